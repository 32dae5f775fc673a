import { CounterfoilError } from '@counterfoil/client';
import type { ComponentChildren } from 'preact';

/** The field that an error is about: `return_urls` for `return_urls.2`. */
export function fieldOf(error: unknown): string | undefined {
  return error instanceof CounterfoilError ? error.param?.split('.')[0] : undefined;
}

/** What is wrong with a field. */
export interface FieldProblem {
  readonly id: string;
  readonly text: string;
}

/** The attributes of a control that make a screen reader announce the error. */
export function stateOf(problem: FieldProblem | undefined) {
  return problem === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': problem.id };
}

/** A control with its label and its error. */
export function Field({
  label,
  problem,
  children,
}: {
  readonly label: string;
  readonly problem: FieldProblem | undefined;
  readonly children: ComponentChildren;
}) {
  return (
    <>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is the child */}
      <label>
        {label}
        {children}
      </label>
      {problem !== undefined && (
        <p id={problem.id} class="wrong" role="alert">
          {problem.text}
        </p>
      )}
    </>
  );
}

/** A required line of text. */
export function Text({
  label,
  name,
  value,
  isSecret = false,
  problem,
}: {
  readonly label: string;
  readonly name: string;
  readonly value?: string | undefined;
  readonly isSecret?: boolean;
  readonly problem: FieldProblem | undefined;
}) {
  const given = { name, required: true, defaultValue: value, spellcheck: false, ...stateOf(problem) };
  return (
    <Field label={label} problem={problem}>
      {isSecret ? (
        // Prevents the browser from filling in a password that it stores for the console.
        <input type="password" autocomplete="new-password" {...given} />
      ) : (
        <input autocomplete="off" {...given} />
      )}
    </Field>
  );
}

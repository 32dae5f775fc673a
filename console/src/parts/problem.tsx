import { CounterfoilError } from '@counterfoil/client';
import { InputError } from '../input-error.ts';
import { texts } from '../texts.ts';

interface ProblemProps {
  readonly error: unknown;
  readonly again?: (() => void) | undefined;
}

/** An error: what happened, what to do, and the id under which the log has the details. */
export function Problem({ error, again }: ProblemProps) {
  const known = error instanceof CounterfoilError ? error : undefined;
  const isInput = error instanceof InputError;
  const otherHint = isInput ? undefined : texts.problem.unexpected;
  const hint = known === undefined ? otherHint : texts.problem.hints[known.code];
  return (
    <div class="problem" role="alert">
      <strong>{texts.problem.title}</strong>
      <p>{known?.message ?? (isInput ? error.message : String(error))}</p>
      {hint !== undefined && <p>{hint}</p>}
      {known?.requestId !== undefined && (
        <p>
          <small>{texts.problem.request(known.requestId)}</small>
        </p>
      )}
      {again !== undefined && (
        <button type="button" onClick={again}>
          {texts.problem.again}
        </button>
      )}
    </div>
  );
}

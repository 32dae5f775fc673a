import type { Scope } from '@counterfoil/client/operator';
import { type FieldProblem, stateOf } from '../parts/field.tsx';
import { texts } from '../texts.ts';

const { form, scopes: sentences } = texts.apiKeys;

/** The scopes of a key, as sentences with checkboxes. The scope `admin` stands for all of them. */
export function ScopeChoice({
  offered,
  chosen,
  choose,
  problem,
}: {
  readonly offered: readonly Scope[];
  readonly chosen: readonly Scope[];
  readonly choose: (scopes: readonly Scope[]) => void;
  readonly problem: FieldProblem | undefined;
}) {
  const change = (scope: Scope, isChosen: boolean) => {
    const others = chosen.filter((each) => each !== scope && each !== 'admin');
    if (!isChosen) choose(others);
    else choose(scope === 'admin' ? ['admin'] : [...others, scope]);
  };
  return (
    <fieldset>
      <legend>{form.scopes}</legend>
      {offered.map((scope) => (
        <label key={scope}>
          <input
            type="checkbox"
            name="scopes"
            checked={chosen.includes(scope)}
            onChange={(event) => change(scope, event.currentTarget.checked)}
            {...stateOf(problem)}
          />
          {sentences[scope]?.() ?? scope}
        </label>
      ))}
      {problem !== undefined && (
        <p id={problem.id} class="wrong" role="alert">
          {problem.text}
        </p>
      )}
    </fieldset>
  );
}

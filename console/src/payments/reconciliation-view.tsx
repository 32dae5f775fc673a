import type { ReconcileDifference } from '@counterfoil/client/operator';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'preact/hooks';
import { Columns } from '../parts/columns.tsx';
import { Command } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { type Compared, comparedOf, periodOf } from './compared.ts';
import { type Comparison, useReconciliation } from './use-reconciliation.ts';

const { reconciliation: words } = texts;

/** The differences between our payments and the records of a processor. */
export default function ReconciliationView() {
  const { session, client } = useConnection();
  const compared = useSearch({ from: '/reconciliation' });
  const [attempt, setAttempt] = useState(0);
  const comparison = useReconciliation(client, compared, attempt);
  const again = () => setAttempt(attempt + 1);
  const { processor } = compared;
  if (session.payments === null)
    return (
      <>
        <h1>{words.title}</h1>
        <p>{texts.payments.elsewhere}</p>
        <Command text={words.command('PROCESSOR', {})} />
      </>
    );
  return (
    <>
      <h1>{words.title}</h1>
      <p>{words.explanation}</p>
      <Form
        key={JSON.stringify(compared)}
        processors={session.payments.processors}
        compared={compared}
        isRunning={comparison.isRunning}
        again={again}
      />
      {processor !== undefined && <Outcome processor={processor} comparison={comparison} again={again} />}
      <h2>{words.asCommand}</h2>
      <Command text={words.command(processor ?? session.payments.processors[0] ?? '', periodOf(compared))} />
    </>
  );
}

interface FormProps {
  readonly processors: readonly string[];
  readonly compared: Compared;
  readonly isRunning: boolean;
  readonly again: () => void;
}

function Form({ processors, compared, isRunning, again }: FormProps) {
  const navigate = useNavigate();
  const submit = (event: Event) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const search = comparedOf(Object.fromEntries(fields));
    if (JSON.stringify(search) === JSON.stringify(compared)) again();
    else void navigate({ to: '/reconciliation', search });
  };
  return (
    <form class="filters" aria-label={words.title} onSubmit={submit}>
      <label>
        {words.processor}
        <select name="processor">
          {processors.map((name) => (
            <option key={name} selected={name === compared.processor}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {words.from}
        <input type="date" name="from" defaultValue={compared.from ?? ''} />
      </label>
      <label>
        {words.to}
        <input type="date" name="to" defaultValue={compared.to ?? ''} />
      </label>
      <button type="submit" disabled={isRunning}>
        {words.compare}
      </button>
    </form>
  );
}

interface OutcomeProps {
  readonly processor: string;
  readonly comparison: Comparison;
  readonly again: () => void;
}

function Outcome({ processor, comparison, again }: OutcomeProps) {
  const { isRunning, differences, counts, unfinished, error } = comparison;
  const isWhole = !isRunning && error === undefined && unfinished === null;
  return (
    <>
      <p role="status">
        {isRunning && words.running}{' '}
        {counts !== undefined && words.counts(counts.payments, counts.charges, counts.others)}{' '}
        {isWhole && words.differences(differences.length)}
      </p>
      {error !== undefined && <Problem error={error} again={again} />}
      {unfinished !== null && (
        <div class="problem" role="alert">
          <strong>{words.unfinished}</strong>
          <p>{unfinished}</p>
        </div>
      )}
      {differences.length > 0 && <Differences processor={processor} differences={differences} />}
      {differences.some(({ route }) => route === null) && (
        <>
          <p>{words.lacking}</p>
          <Command text={words.adopt} />
        </>
      )}
    </>
  );
}

function Differences({
  processor,
  differences,
}: {
  readonly processor: string;
  readonly differences: readonly ReconcileDifference[];
}) {
  return (
    <table class="list" aria-label={words.title}>
      <Columns titles={words.columns} />
      <tbody>
        {differences.map(({ payment_id: id, charge_id, route, difference }) => (
          <tr key={`${id} ${charge_id} ${difference}`}>
            <td class="code">
              {id !== null && route !== null ? (
                <Link to="/payments/$processor/$route/$id" params={{ processor, route, id }}>
                  {id}
                </Link>
              ) : (
                id
              )}
            </td>
            <td class="code">{charge_id}</td>
            <td>{difference}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

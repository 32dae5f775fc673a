import type { DoctorCheck, MasterKey } from '@counterfoil/client/operator';
import { useQuery } from '@tanstack/react-query';
import { doctorMs } from '../limits.ts';
import { Columns } from '../parts/columns.tsx';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

const { doctor: words } = texts;

/** The findings of `counterfoil doctor`, and the master keys. */
export default function Doctor() {
  const { client } = useConnection();
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['doctor'],
    queryFn: ({ signal }) => client.doctor({ signal }),
    staleTime: doctorMs,
  });
  return (
    <>
      <h2>{words.title}</h2>
      {error !== null && <Problem error={error} />}
      <p>
        <button type="button" disabled={isFetching} onClick={() => void refetch()}>
          {words.again}
        </button>{' '}
        <span role="status" aria-label={words.title}>
          {isFetching && words.examining}
          {!isFetching && data !== undefined && words.verdicts[data.status]}
        </span>{' '}
        {data !== undefined && <Time at={data.checked_at} />}
      </p>
      {data !== undefined && (
        <details key={data.status} open={data.status !== 'ok'}>
          <summary>{words.checks(data.checks.length)}</summary>
          <Checks checks={data.checks} />
        </details>
      )}
      {data !== undefined && data.master_keys.length > 0 && <MasterKeys keys={data.master_keys} />}
    </>
  );
}

function Checks({ checks }: { readonly checks: readonly DoctorCheck[] }) {
  return (
    <table class="list" aria-label={words.title}>
      <Columns titles={words.columns} />
      <tbody>
        {checks.map(({ check, status, message, action }) => (
          <tr key={`${check} ${message}`}>
            <td>
              <span class={`status ${status}`}>{words.statuses[status]}</span>
            </td>
            <td>{check}</td>
            <td>{message}</td>
            <td>{action}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function MasterKeys({ keys }: { readonly keys: readonly MasterKey[] }) {
  return (
    <>
      <h2>{words.masterKeys}</h2>
      <table class="list" aria-label={words.masterKeys}>
        <Columns titles={words.keyColumns} />
        <tbody>
          {keys.map(({ id, is_writing, state, since, secrets }) => (
            <tr key={id}>
              <td class="code">{id}</td>
              <td>{is_writing ? words.writing : words.keyStates[state]}</td>
              <td>{since !== null && <Time at={since} />}</td>
              <td>{secrets.toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>{words.rotate}</p>
    </>
  );
}

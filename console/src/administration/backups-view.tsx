import { CounterfoilError } from '@counterfoil/client';
import type { Backup, BackupReport } from '@counterfoil/client/operator';
import { useMutation, useQuery } from '@tanstack/react-query';
import { backupsMs } from '../limits.ts';
import { Columns } from '../parts/columns.tsx';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

const { backups: words } = texts;

/** The backups at the target, and the progress of continuous backup. */
export default function BackupsView() {
  const { client } = useConnection();
  const { data, error, refetch } = useQuery({
    queryKey: ['backups'],
    queryFn: ({ signal }) => client.backups.read({ signal }),
    refetchInterval: backupsMs,
  });
  return (
    <>
      <h1>{words.title}</h1>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.loading}</p>}
      {data?.target === null && <NotConfigured store={data.store} />}
      {data !== undefined && data.target !== null && <Report report={data} refresh={() => void refetch()} />}
    </>
  );
}

function NotConfigured({ store }: Pick<BackupReport, 'store'>) {
  if (store === 'dynamodb') return <Empty title={words.elsewhereTitle}>{words.elsewhere}</Empty>;
  return (
    <Empty title={words.noneTitle} command={words.settings}>
      <p>{words.none}</p>
    </Empty>
  );
}

function Report({ report, refresh }: { readonly report: BackupReport; readonly refresh: () => void }) {
  const { problem, total, backups } = report;
  return (
    <>
      <Facts report={report} />
      <MakeButton isRunning={report.running !== null} refresh={refresh} />
      {problem !== null && (
        <div class="problem" role="alert">
          <strong>{words.unlisted}</strong>
          <p>{problem}</p>
        </div>
      )}
      {total === 0 && <Empty title={words.noBackups} command={words.command(report.target ?? '')} />}
      {total !== null && total > backups.length && <p>{words.shown(backups.length, total)}</p>}
      {backups.length > 0 && <List backups={backups} />}
    </>
  );
}

function MakeButton({ isRunning, refresh }: { readonly isRunning: boolean; readonly refresh: () => void }) {
  const { client } = useConnection();
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => client.backups.make(),
    onSettled: refresh,
  });
  // The list shows that a backup is being made.
  const isKnown = error instanceof CounterfoilError && error.code === 'backup_running';
  return (
    <>
      <p>
        <button type="button" disabled={isRunning || isPending} onClick={() => mutate()}>
          {words.make}
        </button>{' '}
        <span role="status">{isRunning && words.running}</span>
      </p>
      {error !== null && !isKnown && <Problem error={error} />}
    </>
  );
}

function Facts({ report }: { readonly report: BackupReport }) {
  const { target, schedule, next_at, keep, newest, continuous, last_failure: failure } = report;
  return (
    <dl class="details">
      <Fact name={words.facts.target}>
        <span class="code">{target}</span>
      </Fact>
      <Fact name={words.facts.newest}>{newest === null ? words.never : <Time at={newest.time} />}</Fact>
      <Fact name={words.facts.schedule}>
        <span class="code">{schedule}</span>
        {next_at !== null && (
          <>
            {' '}
            {words.next} <Time at={next_at} />
          </>
        )}
      </Fact>
      <Fact name={words.facts.keep}>{keep}</Fact>
      <Fact name={words.facts.continuous}>{continuousText(continuous)}</Fact>
      <Fact name={words.facts.failure}>
        {failure === null ? (
          words.noFailure
        ) : (
          <>
            <Time at={failure.at} />: {failure.message}
          </>
        )}
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function continuousText(continuous: BackupReport['continuous']): string {
  if (continuous === null) return words.off;
  const { seconds, position, store_position, lag_seconds } = continuous;
  if (position === null || store_position === null || lag_seconds === null) return words.notBegun(seconds);
  return words.progress(seconds, store_position - position, lag_seconds);
}

function List({ backups }: { readonly backups: readonly Backup[] }) {
  return (
    <table class="list" aria-label={words.title}>
      <Columns titles={words.columns} />
      <tbody>
        {backups.map(({ name, state, time, position, items, bytes }) => (
          <tr key={name}>
            <td class="code">{name}</td>
            <td>{time !== null && <Time at={time} />}</td>
            <td>{items?.toLocaleString()}</td>
            <td>{bytes !== null && words.size(bytes)}</td>
            <td>{position?.toLocaleString()}</td>
            <td>{words.states[state]}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

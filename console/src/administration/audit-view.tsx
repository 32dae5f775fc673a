import type { Act } from '@counterfoil/client';
import { useInfiniteQuery } from '@tanstack/react-query';
import { actsPerPage } from '../limits.ts';
import { written } from '../money.ts';
import { Columns } from '../parts/columns.tsx';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import type { Session } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

const { audit } = texts;

/** What administrators and users have done, newest first. */
export default function AuditView() {
  const { client, session } = useConnection();
  const { data, error, hasNextPage, isFetching, fetchNextPage, refetch } = useInfiniteQuery({
    queryKey: ['audit'],
    queryFn: ({ pageParam, signal }) =>
      client.audit.list({
        limit: actsPerPage,
        signal,
        ...(pageParam === undefined ? {} : { after: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const acts = data?.pages.flatMap((page) => page.acts) ?? [];
  return (
    <>
      <h1>{audit.title}</h1>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.loading}</p>}
      {data !== undefined && acts.length === 0 && <p>{audit.none}</p>}
      {acts.length > 0 && <Acts acts={acts} session={session} />}
      {hasNextPage && (
        <button type="button" disabled={isFetching} onClick={() => void fetchNextPage()}>
          {audit.older}
        </button>
      )}
    </>
  );
}

function Acts({ acts, session }: { readonly acts: readonly Act[]; readonly session: Session }) {
  return (
    <table class="list" aria-label={audit.title}>
      <Columns titles={audit.columns} />
      <tbody>
        {acts.map(({ id, at, what, on, by, administrator, refund, request_id }) => (
          <tr key={id}>
            <td>
              <Time at={at} />
            </td>
            <td title={what}>{(audit.acts as Readonly<Record<string, string>>)[what] ?? what}</td>
            <td class="code">
              {on}
              {refund === undefined ? '' : `: ${written(session, refund.amount, refund.currency)}`}
            </td>
            <td>{actorOf(by, administrator)}</td>
            <td class="code">{request_id}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function actorOf(by: string, administrator: Act['administrator']): string {
  if (administrator !== undefined) {
    const { name, issuer, subject } = administrator;
    return audit.administrator(name, issuer, subject);
  }
  return by.startsWith('key:')
    ? audit.key(by.slice('key:'.length))
    : ((audit.actors as Readonly<Record<string, string>>)[by] ?? by);
}

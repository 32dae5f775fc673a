import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { IntegrationList } from './integration-list.tsx';
import type { PersonSession, User } from './person.ts';
import { nameOf } from './person.ts';

const EndDialog = lazy(() => import('./end-dialog.tsx'));

/** The integrations, who has signed in by them, and the sessions of these people. */
export default function PeopleView() {
  const { session } = useConnection();
  return (
    <>
      <h1>{texts.people.title}</h1>
      {may(session, 'integrations:read') && <IntegrationList />}
      {may(session, 'users:read') && <Users />}
    </>
  );
}

function Users() {
  const { calls, session } = useConnection();
  const [ended, setEnded] = useState<User>();
  const { data, error, refetch } = useQuery({
    queryKey: ['people'],
    queryFn: async ({ signal }) => {
      const [users, sessions] = await Promise.all([
        calls.list<User>('/v3/users', signal),
        calls.list<PersonSession>('/v3/sessions', signal),
      ]);
      return { users, sessions: Map.groupBy(sessions, ({ user }) => user) };
    },
  });
  return (
    <>
      <h2>{texts.people.users}</h2>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.loading}</p>}
      {data?.users.length === 0 && <Empty title={texts.people.none} />}
      <ul class="inbox">
        {data?.users.map((user) => (
          <li key={user.id}>
            <h3>{nameOf(user)}</h3>
            <p>
              {user.email} {user.issuer} <span class="code">{user.subject}</span>
            </p>
            <p>
              {texts.people.lastSignIn} <Time at={user.last_sign_in_at} />
            </p>
            <Sessions sessions={data.sessions.get(user.id) ?? []} />
            {may(session, 'users:write') && data.sessions.has(user.id) && (
              <button type="button" onClick={() => setEnded(user)}>
                {texts.people.end(nameOf(user))}
              </button>
            )}
          </li>
        ))}
      </ul>
      {ended !== undefined && (
        <Suspense fallback={null}>
          <EndDialog user={ended} close={() => setEnded(undefined)} changed={() => void refetch()} />
        </Suspense>
      )}
    </>
  );
}

function Sessions({ sessions }: { readonly sessions: readonly PersonSession[] }) {
  if (sessions.length === 0) return <p>{texts.people.noSessions}</p>;
  return (
    <ul>
      {sessions.map(({ id, provider, integration, created_at, last_seen_at }) => (
        <li key={id}>
          {`${provider}/${integration}`} · {texts.people.since} <Time at={created_at} /> · {texts.people.seen}{' '}
          <Time at={last_seen_at} />
        </li>
      ))}
    </ul>
  );
}

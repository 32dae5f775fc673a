import { useQuery } from '@tanstack/react-query';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { nameOf, type PersonSession, type User } from './person.ts';

const { people } = texts;

/** One person with their sessions. All sessions can be ended, after a confirmation. */
export default function PersonDialog({ user, close }: { readonly user: User; readonly close: () => void }) {
  const { calls, session } = useConnection();
  const [isEnding, setEnding] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const { data, error, refetch } = useQuery({
    queryKey: ['sessions', user.id],
    queryFn: async ({ signal }) =>
      (await calls.page<PersonSession>('/v3/sessions', { user: user.id }, signal)).entries,
  });
  const end = async () => {
    try {
      await calls.send('DELETE', `/v3/sessions?${new URLSearchParams({ user: user.id })}`);
      setEnding(false);
      await refetch();
    } catch (thrown) {
      setFailure(thrown);
    }
  };
  if (isEnding) {
    return (
      <Dialog title={people.end(nameOf(user))} close={close}>
        <p>{people.sure}</p>
        {failure !== undefined && <Problem error={failure} />}
        <div class="actions">
          <button type="button" onClick={() => setEnding(false)}>
            {texts.item.cancel}
          </button>
          <button type="button" class="danger" onClick={() => void end()}>
            {people.confirm}
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title={nameOf(user)} close={close}>
      <Facts user={user} />
      <h3>{people.sessions}</h3>
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.loading}</p>}
      {data !== undefined && <Sessions sessions={data} />}
      <div class="actions">
        <button type="button" onClick={close}>
          {texts.item.close}
        </button>
        {may(session, 'users:write') && data !== undefined && data.length > 0 && (
          <button type="button" class="danger" onClick={() => setEnding(true)}>
            {people.end(nameOf(user))}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function Facts({ user }: { readonly user: User }) {
  const { fields } = people;
  return (
    <dl class="details">
      <Fact name={fields.user}>
        <span class="code">{user.id}</span>
      </Fact>
      {user.email !== undefined && <Fact name={fields.email}>{user.email}</Fact>}
      <Fact name={fields.issuer}>
        <span class="code">{user.issuer}</span>
      </Fact>
      <Fact name={fields.subject}>
        <span class="code">{user.subject}</span>
      </Fact>
      <Fact name={fields.firstSignIn}>
        <Time at={user.first_sign_in_at} />
      </Fact>
      <Fact name={fields.lastSignIn}>
        <Time at={user.last_sign_in_at} />
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Sessions({ sessions }: { readonly sessions: readonly PersonSession[] }) {
  if (sessions.length === 0) return <p>{people.noSessions}</p>;
  return (
    <ul>
      {sessions.map(({ id, provider, integration, created_at, last_seen_at }) => (
        <li key={id}>
          {`${provider}/${integration}`} · {people.since} <Time at={created_at} /> · {people.seen}{' '}
          <Time at={last_seen_at} />
        </li>
      ))}
    </ul>
  );
}

import { CounterfoilError } from '@counterfoil/client';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense } from 'preact/compat';
import { useMemo, useState } from 'preact/hooks';
import { peopleAhead, peoplePerPage } from '../limits.ts';
import { Empty } from '../parts/empty.tsx';
import type { KeysetSource } from '../parts/keyset-pages.ts';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { useKeysetPages } from '../parts/use-keyset-pages.ts';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { nameOf, type User } from './person.ts';

const api = getRouteApi('/people');
const PersonDialog = lazy(() => import('./person-dialog.tsx'));

const { columns, loaded, none, users } = texts.people;

/** Everybody who has signed in, in the order of their ids, as far as the reader has scrolled. */
export function People() {
  const { from } = api.useSearch();
  const [opened, setOpened] = useState<User>();
  const { pages, reached } = useKeysetPages(usePeople(), from, peopleAhead);
  const isEmpty = pages.isComplete && pages.count === 0;
  return (
    <>
      <h2>{users}</h2>
      {isEmpty && from === undefined && <Empty title={none} />}
      <JumpForm from={from} />
      <p class="count" role="status">
        {loaded(pages.count)}
      </p>
      {pages.error !== undefined && <Problem error={pages.error} again={() => pages.retry()} />}
      <VirtualRows
        label={users}
        name="people"
        count={pages.count}
        columns={Object.values(columns)}
        reached={reached}
        row={(index) => <Row user={pages.at(index)} open={setOpened} />}
      />
      {opened !== undefined && (
        <Suspense fallback={null}>
          <PersonDialog user={opened} close={() => setOpened(undefined)} />
        </Suspense>
      )}
    </>
  );
}

function Row({ user, open }: { readonly user: User | undefined; readonly open: (user: User) => void }) {
  if (user === undefined) return null;
  return (
    <>
      <div role="cell">
        <button type="button" class="link" onClick={() => open(user)}>
          {nameOf(user)}
        </button>
      </div>
      <div role="cell">{user.email}</div>
      <div role="cell">{`${user.provider}/${user.integration}`}</div>
      <div role="cell">
        <Time at={user.last_sign_in_at} />
      </div>
      <div role="cell" class="code">
        {user.id}
      </div>
    </>
  );
}

/** Begins the rows at an id. The audit and the tokens of apps (`sub`) contain these ids. */
function JumpForm({ from }: { readonly from: string | undefined }) {
  const navigate = useNavigate();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const id = String(new FormData(event.currentTarget as HTMLFormElement).get('from')).trim();
    void navigate({ to: '/people', search: id === '' ? {} : { from: id } });
  };
  return (
    <form class="filters" onSubmit={submit} key={from}>
      <label>
        {texts.people.jump}
        <input type="search" name="from" defaultValue={from ?? ''} autocomplete="off" spellcheck={false} />
      </label>
      <button type="submit">{texts.tables.go}</button>
    </form>
  );
}

function usePeople(): KeysetSource<User> {
  const { calls } = useConnection();
  return useMemo(
    () => ({
      after: async (after, signal) => {
        const query = { limit: String(peoplePerPage), ...(after === undefined ? {} : { after }) };
        return (await calls.page<User>('/v3/users', query, signal)).entries;
      },
      find: async (id, signal) => {
        try {
          return await calls.read<User>(`/v3/users/${encodeURIComponent(id)}`, signal);
        } catch (error) {
          // The id only determines where the rows begin.
          if (error instanceof CounterfoilError && error.code === 'user_not_found') return undefined;
          throw error;
        }
      },
    }),
    [calls],
  );
}

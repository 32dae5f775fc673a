import { CounterfoilError } from '@counterfoil/client';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { callsOf } from './calls.ts';
import { Problem } from './parts/problem.tsx';
import { router } from './router.tsx';
import {
  clientOf,
  finishSignIn,
  landing,
  readSession,
  type Session,
  signOut,
  viewBefore,
} from './service.ts';
import { ConnectionProvider } from './session.tsx';
import { SignIn } from './sign-in.tsx';
import { texts } from './texts.ts';

type State =
  | { readonly at: 'loading' }
  | { readonly at: 'signed_out'; readonly hasEnded: boolean; readonly error?: unknown }
  | { readonly at: 'signed_in'; readonly session: Session }
  | { readonly at: 'failed'; readonly error: unknown };

/** The page: asks the service who is signed in, and shows the sign-in or the views. */
export function App() {
  const [state, setState] = useState<State>({ at: 'loading' });
  const load = useCallback(() => {
    const isFinishing = location.pathname === landing;
    const reading = isFinishing ? finishSignIn() : readSession();
    // A sign-in can be used only once, so loading the page again must not repeat it.
    if (isFinishing) router.history.replace(viewBefore());
    // The code of the view loads while the session is requested.
    void router.load();
    reading.then(
      (session) => setState({ at: 'signed_in', session }),
      (error: unknown) =>
        setState(
          isUnauthenticated(error)
            ? { at: 'signed_out', hasEnded: false, ...(isFinishing ? { error } : {}) }
            : { at: 'failed', error },
        ),
    );
  }, []);
  useEffect(load, [load]);
  switch (state.at) {
    case 'loading':
      return <p class="waiting">{texts.loading}</p>;
    case 'failed':
      return <Problem error={state.error} again={load} />;
    case 'signed_out':
      return (
        <SignIn
          hasEnded={state.hasEnded}
          failure={state.error}
          signedIn={(session) => setState({ at: 'signed_in', session })}
        />
      );
    case 'signed_in':
      return (
        <Views
          key={state.session.token}
          session={state.session}
          leave={(hasEnded) => setState({ at: 'signed_out', hasEnded })}
        />
      );
  }
}

/** The views of one session. The data that it has read is dropped with it. */
function Views({
  session,
  leave,
}: {
  readonly session: Session;
  readonly leave: (hasEnded: boolean) => void;
}) {
  const queries = useMemo(
    () =>
      new QueryClient({
        defaultOptions: {
          // The client itself repeats requests that may be repeated. A browser that is offline may still reach a
          // service on its machine.
          queries: { retry: false, networkMode: 'always', staleTime: 1_000 },
        },
      }),
    [],
  );
  const [error, setError] = useState<unknown>();
  const connection = useMemo(
    () => ({
      session,
      client: clientOf(session, () => leave(true)),
      calls: callsOf(session, () => leave(true)),
      leave: () => {
        setError(undefined);
        signOut(session).then(
          () => leave(false),
          // After any other failure the session continues, because its cookie still works.
          (thrown: unknown) => (isUnauthenticated(thrown) ? leave(true) : setError(thrown)),
        );
      },
    }),
    [session, leave],
  );
  return (
    <ConnectionProvider value={connection}>
      {error !== undefined && <Problem error={error} again={connection.leave} />}
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </ConnectionProvider>
  );
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof CounterfoilError && error.code === 'unauthenticated';
}

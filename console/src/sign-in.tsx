import { useEffect, useState } from 'preact/hooks';
import { Command } from './parts/empty.tsx';
import { Problem } from './parts/problem.tsx';
import {
  beginSignIn,
  type OfferedIntegration,
  offeredIntegrations,
  type Session,
  signIn,
} from './service.ts';
import { texts } from './texts.ts';

/**
 * Exchanges a key for a session. The form holds the key only until it is sent. On an address where the network could
 * read the key, there is no form, because the service would reject the key only after it was sent.
 */
export function SignIn({
  hasEnded,
  failure,
  signedIn,
}: {
  readonly hasEnded: boolean;
  /** Why the sign-in from which the browser comes has failed. */
  readonly failure: unknown;
  readonly signedIn: (session: Session) => void;
}) {
  const [error, setError] = useState<unknown>(failure);
  const [isSending, setSending] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const key = String(new FormData(form).get('key')).trim();
    setSending(true);
    try {
      signedIn(await signIn(key));
    } catch (thrown) {
      form.reset();
      setError(thrown);
      setSending(false);
    }
  };
  if (!isSecureContext) {
    return (
      <main class="sign-in">
        <h1>{texts.name}</h1>
        <h2>{texts.signIn.title}</h2>
        <p role="alert">{texts.signIn.notSecure}</p>
      </main>
    );
  }
  return (
    <main class="sign-in">
      <h1>{texts.name}</h1>
      <h2>{texts.signIn.title}</h2>
      {hasEnded && error === undefined && <p role="status">{texts.signIn.ended}</p>}
      <p>{texts.signIn.explanation}</p>
      <form onSubmit={submit}>
        <label>
          {texts.signIn.key}
          <input name="key" type="password" required autocomplete="off" spellcheck={false} />
        </label>
        <button type="submit" class="primary" disabled={isSending}>
          {texts.signIn.submit}
        </button>
      </form>
      {error !== undefined && <Problem error={error} />}
      <SignInWith failed={setError} />
      <p>{texts.signIn.make}</p>
      <Command text={texts.signIn.command} />
    </main>
  );
}

/** The integrations by which administrators sign in; nothing if there are none. */
function SignInWith({ failed }: { readonly failed: (error: unknown) => void }) {
  const [offered, setOffered] = useState<readonly OfferedIntegration[]>([]);
  const [isGoing, setGoing] = useState(false);
  useEffect(() => {
    // If this request fails, the form for a key is still there.
    offeredIntegrations().then(setOffered, () => undefined);
  }, []);
  const go = async (integration: OfferedIntegration) => {
    setGoing(true);
    try {
      location.assign(await beginSignIn(integration));
    } catch (thrown) {
      failed(thrown);
      setGoing(false);
    }
  };
  if (offered.length === 0) return null;
  return (
    <>
      <p>{texts.signIn.people}</p>
      <div class="providers">
        {offered.map((integration) => {
          const { provider, name } = integration;
          const label = `${texts.signIn.providers[provider] ?? provider} (${name})`;
          return (
            <button type="button" key={label} disabled={isGoing} onClick={() => void go(integration)}>
              {texts.signIn.with(label)}
            </button>
          );
        })}
      </div>
    </>
  );
}

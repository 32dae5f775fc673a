import type { ApiKey } from '@counterfoil/client/operator';
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

const { revocation } = texts.apiKeys;

/** Revokes a key, after the reader has typed its name. */
export default function RevokeKey({
  apiKey,
  close,
}: {
  readonly apiKey: ApiKey;
  readonly close: () => void;
}) {
  const { client, session } = useConnection();
  const [typed, setTyped] = useState('');
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const { id, name } = apiKey;
  const isConfirmed = shownAs(typed) === shownAs(name);
  const revoke = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!isConfirmed || isSending) return;
    setError(undefined);
    setSending(true);
    try {
      await client.keys.revoke(id);
      close();
    } catch (thrown) {
      setError(thrown);
      setSending(false);
    }
  };
  return (
    <Dialog title={revocation.title(name)} close={close}>
      <form onSubmit={(event) => void revoke(event)}>
        <p>{revocation.sure}</p>
        {session.key?.id === id && <p>{revocation.own}</p>}
        <p class="code">{id}</p>
        <label>
          {revocation.name(name)}
          <input
            value={typed}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        {error !== undefined && <Problem error={error} />}
        <div class="actions">
          <button type="button" onClick={close}>
            {texts.item.cancel}
          </button>
          <button type="submit" class="danger" disabled={!isConfirmed || isSending}>
            {revocation.submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The page shows several spaces as one, so they are compared as one. */
function shownAs(name: string): string {
  return name.replace(/\s+/g, ' ').trim();
}

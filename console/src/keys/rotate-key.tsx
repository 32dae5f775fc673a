import type { ApiKey, ShownApiKey } from '@counterfoil/client/operator';
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { ShownSecret } from './shown-secret.tsx';

const { rotate, rotation } = texts.apiKeys;

/** Gives a key a new secret, and shows it once. */
export default function RotateKey({
  apiKey,
  close,
}: {
  readonly apiKey: ApiKey;
  readonly close: () => void;
}) {
  const { client, session } = useConnection();
  const [made, setMade] = useState<ShownApiKey>();
  const [isSending, setSending] = useState(false);
  const [error, setError] = useState<unknown>();
  const { id, name, previous_until } = apiKey;
  const isOwn = session.key?.id === id;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isSending) return;
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const overlapSeconds = Number(data.get('overlap'));
    setError(undefined);
    setSending(true);
    try {
      setMade(await client.keys.rotate(id, { overlapSeconds, endsPrevious: data.has('ends_previous') }));
    } catch (thrown) {
      setError(thrown);
    }
    setSending(false);
  };
  return (
    <Dialog title={rotate(name)} close={close} isHeld={isSending || made !== undefined}>
      {made === undefined ? (
        <form onSubmit={(event) => void submit(event)}>
          <p>{rotation.explanation}</p>
          {isOwn && <p>{rotation.own}</p>}
          <label>
            {rotation.overlap}
            <select name="overlap">
              {rotation.overlaps.map(([seconds, text]) => (
                <option key={seconds} value={seconds}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          {previous_until !== null && (
            <>
              <p>
                {rotation.previous} <Time at={previous_until} />
              </p>
              <label>
                <input type="checkbox" name="ends_previous" required />
                {rotation.endsPrevious}
              </label>
            </>
          )}
          {error !== undefined && <Problem error={error} />}
          <div class="actions">
            <button type="button" disabled={isSending} onClick={close}>
              {texts.item.cancel}
            </button>
            <button type="submit" class="primary" disabled={isSending}>
              {rotation.submit}
            </button>
          </div>
        </form>
      ) : (
        <ShownSecret made={made} note={isOwn ? rotation.own : undefined} close={close} />
      )}
    </Dialog>
  );
}

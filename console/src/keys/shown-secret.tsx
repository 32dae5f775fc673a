import type { ShownApiKey } from '@counterfoil/client/operator';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Command } from '../parts/empty.tsx';
import { texts } from '../texts.ts';

const { shown } = texts.apiKeys;

/** Shows a new key once. Only the state of its dialog holds the key, and the key is dropped with it. */
export function ShownSecret({
  made,
  note,
  close,
}: {
  readonly made: ShownApiKey;
  readonly note?: string | undefined;
  readonly close: () => void;
}) {
  const [status, setStatus] = useState('');
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(made.key);
      setStatus(shown.copied);
    } catch {
      setStatus(shown.notCopied);
    }
  };
  return (
    <>
      <p>{made.kind === 'publishable' ? shown.publishable : shown.once}</p>
      {note !== undefined && <p>{note}</p>}
      <Command text={made.key} />
      <p role="status">{status}</p>
      <div class="actions">
        <button type="button" ref={first} onClick={() => void copy()}>
          {shown.copy}
        </button>
        <button type="button" class="primary" onClick={close}>
          {shown.done}
        </button>
      </div>
    </>
  );
}

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { exportItems, type Format, store } from './export-items.ts';
import { type Imported, importItems, type OnConflict } from './import-items.ts';
import { itemsOf } from './read-file.ts';

interface TransferDialogProps {
  readonly table: string;
  readonly close: () => void;
  readonly changed: () => void;
}

/**
 * Exports a table to a file, and imports items from a file, with progress. While it runs, only its Stop button ends it,
 * so that a stray click cannot leave a half-imported file unnoticed.
 */
export default function TransferDialog({ table: name, close, changed }: TransferDialogProps) {
  const { client, session } = useConnection();
  const table = client.table(name);
  const [status, setStatus] = useState('');
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const stopping = useRef<AbortController>(undefined);
  const stop = useCallback(() => stopping.current?.abort(), []);
  useEffect(() => stop, [stop]);
  const run = async (work: (signal: AbortSignal) => Promise<void>) => {
    stopping.current = new AbortController();
    const { signal } = stopping.current;
    setError(undefined);
    setStatus('');
    setRunning(true);
    try {
      await work(signal);
    } catch (thrown) {
      if (!signal.aborted) setError(thrown);
    }
    setRunning(false);
  };
  const exporting = (format: Format) =>
    run(async (signal) => {
      const progress = (items: number) => setStatus(texts.transfer.exported(items.toLocaleString()));
      store(await exportItems(table, format, progress, signal), `${name}.${format}`);
    });
  const importing = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    void run(async (signal) => {
      const items = await itemsOf(data.get('file') as File);
      const onConflict = String(data.get('conflict')) as OnConflict;
      let done: Imported = { written: 0, skipped: 0 };
      const progress = (now: Imported) => {
        done = now;
        setStatus(texts.transfer.imported(now.written, now.skipped, items.length));
      };
      try {
        await importItems(table, items, onConflict, progress, signal);
        const ended = done.written + done.skipped;
        if (ended < items.length) setStatus(texts.transfer.stopped(ended, items.length));
      } finally {
        changed();
      }
    });
  };
  return (
    <Dialog title={texts.transfer.title} close={close} isHeld={isRunning}>
      <div class="bar">
        <button type="button" disabled={isRunning} onClick={() => void exporting('jsonl')}>
          {texts.transfer.exportLines}
        </button>
        <button type="button" disabled={isRunning} onClick={() => void exporting('csv')}>
          {texts.transfer.exportCsv}
        </button>
      </div>
      {may(session, 'tables:write') && (
        <form onSubmit={importing}>
          <label>
            {texts.transfer.file}
            <input type="file" name="file" required accept=".jsonl,.ndjson,.csv" />
          </label>
          <label>
            {texts.transfer.conflict}
            <select name="conflict">
              {Object.entries(texts.transfer.conflicts).map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <button type="submit" disabled={isRunning}>
            {texts.transfer.import}
          </button>
        </form>
      )}
      <p role="status">{status}</p>
      {error !== undefined && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={isRunning ? stop : close}>
          {isRunning ? texts.transfer.stop : texts.item.close}
        </button>
      </div>
    </Dialog>
  );
}

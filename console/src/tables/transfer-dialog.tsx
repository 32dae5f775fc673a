import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { exportItems, type Format, store } from './export-items.ts';
import { importItems, type OnConflict } from './import-items.ts';
import { itemsOf } from './read-file.ts';

interface TransferDialogProps {
  readonly table: string;
  readonly close: () => void;
  readonly changed: () => void;
}

/** Exports a table to a file, and imports items from one, with progress. Closing the dialog stops either. */
export default function TransferDialog({ table: name, close, changed }: TransferDialogProps) {
  const { client, session } = useConnection();
  const table = client.table(name);
  const [status, setStatus] = useState('');
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const stopping = useRef(new AbortController());
  useEffect(() => () => stopping.current.abort(), []);
  const run = async (work: (signal: AbortSignal) => Promise<void>) => {
    setError(undefined);
    setRunning(true);
    try {
      await work(stopping.current.signal);
    } catch (thrown) {
      if (!stopping.current.signal.aborted) setError(thrown);
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
      try {
        await importItems(
          table,
          items,
          String(data.get('conflict')) as OnConflict,
          ({ written, skipped }) => setStatus(texts.transfer.imported(written, skipped, items.length)),
          signal,
        );
      } finally {
        changed();
      }
    });
  };
  return (
    <Dialog title={texts.transfer.title} close={close}>
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
        <button type="button" onClick={close}>
          {texts.item.close}
        </button>
      </div>
    </Dialog>
  );
}

import { useState } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

/** Creates an item. Without a given table, the reader names one. */
export function NewItem({
  table,
  close,
  ended,
}: {
  readonly table: string | undefined;
  readonly close: () => void;
  readonly ended: () => void;
}) {
  const { client } = useConnection();
  const [error, setError] = useState<unknown>();
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(data.get(name) ?? '');
    try {
      await client.table(table ?? text('table')).create({ id: text('id'), name: lineFeeds(text('name')) });
      ended();
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      {table === undefined && (
        <label>
          {texts.item.table}
          <input name="table" required autocomplete="off" spellcheck={false} />
        </label>
      )}
      <label>
        {texts.item.id}
        <input name="id" required autocomplete="off" spellcheck={false} />
      </label>
      <label>
        {texts.item.name}
        <textarea name="name" rows={4} />
      </label>
      {error !== undefined && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={close}>
          {texts.item.cancel}
        </button>
        <button type="submit" class="primary">
          {texts.item.save}
        </button>
      </div>
    </form>
  );
}

/** `FormData` writes the line feeds of a text area as carriage return and line feed. */
function lineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

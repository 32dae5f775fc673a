import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

/** Deletes a table with all of its items, after the reader has typed its name. */
export default function DropDialog({
  table,
  close,
  dropped,
}: {
  readonly table: string;
  readonly close: () => void;
  readonly dropped: () => void;
}) {
  const { client } = useConnection();
  const [typed, setTyped] = useState('');
  const [isDropping, setDropping] = useState(false);
  const [error, setError] = useState<unknown>();
  const drop = async (event: SubmitEvent) => {
    event.preventDefault();
    if (typed !== table || isDropping) return;
    setError(undefined);
    setDropping(true);
    try {
      await client.table(table).drop();
      dropped();
    } catch (thrown) {
      setError(thrown);
      setDropping(false);
    }
  };
  return (
    <Dialog title={texts.drop.title(table)} close={close}>
      <form onSubmit={(event) => void drop(event)}>
        <p>{texts.drop.sure}</p>
        <label>
          {texts.drop.name(table)}
          <input
            value={typed}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <p role="status">{isDropping && texts.drop.dropping}</p>
        {error !== undefined && <Problem error={error} />}
        <div class="actions">
          <button type="button" onClick={close}>
            {texts.item.cancel}
          </button>
          <button type="submit" class="danger" disabled={typed !== table || isDropping}>
            {texts.drop.confirm}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

import { CounterfoilError, type StoredItem } from '@counterfoil/client';
import { useState } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { Conflict, DeleteConflict } from './item-conflict.tsx';

interface EditItemProps {
  readonly table: string;
  readonly item: StoredItem;
  readonly close: () => void;
  readonly ended: () => void;
}

/** Edits or deletes an item only if it has not changed since it was read. Otherwise shows both versions. */
export function EditItem({ table: tableName, item, close, ended }: EditItemProps) {
  const { client, session } = useConnection();
  const table = client.table(tableName);
  const [name, setName] = useState(item.name);
  const [read, setRead] = useState<StoredItem>(item);
  const [conflict, setConflict] = useState<{ readonly theirs: StoredItem; readonly deletes: boolean }>();
  const [deletes, setDeletes] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (write: () => Promise<void>, deletes = false) => {
    setError(undefined);
    try {
      await write();
      ended();
    } catch (thrown) {
      setDeletes(false);
      const hasChanged = thrown instanceof CounterfoilError && thrown.code === 'precondition_failed';
      const now = hasChanged ? await table.get(item.id).catch(() => undefined) : undefined;
      if (now === undefined) setError(thrown);
      else setConflict({ theirs: now, deletes });
    }
  };
  const save = (ifMatch: string) => run(() => table.update({ id: item.id, name }, { ifMatch }));
  const remove = (ifMatch: string) => run(() => table.delete(item.id, { ifMatch }), true);
  if (conflict !== undefined) {
    const { theirs } = conflict;
    return conflict.deletes ? (
      <DeleteConflict
        theirs={theirs.name}
        deleteTheirs={() => void remove(theirs.etag)}
        keepTheirs={ended}
        error={error}
      />
    ) : (
      <Conflict
        mine={name}
        theirs={theirs.name}
        keepMine={() => void save(theirs.etag)}
        takeTheirs={() => {
          setRead(theirs);
          setName(theirs.name);
          setConflict(undefined);
        }}
        error={error}
      />
    );
  }
  const canWrite = may(session, 'tables:write');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save(read.etag);
      }}
    >
      <p>
        {texts.item.id}: <span class="code">{item.id}</span>
      </p>
      <label>
        {texts.item.name}
        <textarea
          rows={8}
          value={name}
          readOnly={!canWrite}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      {read.name.includes('\r') && <p>{texts.item.carriageReturns}</p>}
      {error !== undefined && <Problem error={error} />}
      {deletes && <p role="alert">{texts.item.sure(item.id)}</p>}
      <div class="actions">
        {canWrite && (
          <button
            type="button"
            class="danger"
            onClick={() => (deletes ? void remove(read.etag) : setDeletes(true))}
          >
            {texts.item.delete}
          </button>
        )}
        <button type="button" onClick={close}>
          {canWrite ? texts.item.cancel : texts.item.close}
        </button>
        {canWrite && (
          <button type="submit" class="primary">
            {texts.item.save}
          </button>
        )}
      </div>
    </form>
  );
}

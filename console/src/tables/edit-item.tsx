import { CounterfoilError, type StoredItem } from '@counterfoil/client';
import { useState } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

interface EditItemProps {
  readonly table: string;
  readonly item: StoredItem;
  readonly close: () => void;
  readonly ended: () => void;
}

/** Edits or deletes an item only if it is still as it was read; otherwise shows both versions. */
export function EditItem({ table: tableName, item, close, ended }: EditItemProps) {
  const { client, session } = useConnection();
  const table = client.table(tableName);
  const [name, setName] = useState(item.name);
  const [read, setRead] = useState<StoredItem>(item);
  const [theirs, setTheirs] = useState<StoredItem>();
  const [deletes, setDeletes] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (write: () => Promise<void>) => {
    setError(undefined);
    try {
      await write();
      ended();
    } catch (thrown) {
      setDeletes(false);
      const hasChanged = thrown instanceof CounterfoilError && thrown.code === 'precondition_failed';
      const now = hasChanged ? await table.get(item.id).catch(() => undefined) : undefined;
      if (now === undefined) setError(thrown);
      else setTheirs(now);
    }
  };
  const save = (ifMatch: string) => run(() => table.update({ id: item.id, name }, { ifMatch }));
  if (theirs !== undefined) {
    return (
      <Conflict
        mine={name}
        theirs={theirs.name}
        keepMine={() => void save(theirs.etag)}
        takeTheirs={() => {
          setRead(theirs);
          setName(theirs.name);
          setTheirs(undefined);
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
            onClick={() =>
              deletes ? void run(() => table.delete(item.id, { ifMatch: read.etag })) : setDeletes(true)
            }
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

function Conflict({
  mine,
  theirs,
  keepMine,
  takeTheirs,
  error,
}: {
  readonly mine: string;
  readonly theirs: string;
  readonly keepMine: () => void;
  readonly takeTheirs: () => void;
  readonly error: unknown;
}) {
  return (
    <div>
      <p role="alert">{texts.item.conflict}</p>
      <div class="versions">
        <label>
          {texts.item.yours}
          <textarea rows={6} readOnly value={mine} />
        </label>
        <label>
          {texts.item.theirs}
          <textarea rows={6} readOnly value={theirs} />
        </label>
      </div>
      {error !== undefined && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={takeTheirs}>
          {texts.item.takeTheirs}
        </button>
        <button type="button" class="danger" onClick={keepMine}>
          {texts.item.keepMine}
        </button>
      </div>
    </div>
  );
}

import { Problem } from '../parts/problem.tsx';
import { texts } from '../texts.ts';

/** Both versions of an item that somebody has changed while the reader edited it. */
export function Conflict({
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

/** The new version of an item that somebody has changed before the reader could delete it. */
export function DeleteConflict({
  theirs,
  deleteTheirs,
  keepTheirs,
  error,
}: {
  readonly theirs: string;
  readonly deleteTheirs: () => void;
  readonly keepTheirs: () => void;
  readonly error: unknown;
}) {
  return (
    <div>
      <p role="alert">{texts.item.conflict}</p>
      <label>
        {texts.item.theirs}
        <textarea rows={6} readOnly value={theirs} />
      </label>
      {error !== undefined && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={keepTheirs}>
          {texts.item.keepTheirs}
        </button>
        <button type="button" class="danger" onClick={deleteTheirs}>
          {texts.item.deleteTheirs}
        </button>
      </div>
    </div>
  );
}

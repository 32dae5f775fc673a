import type { Store } from '../store.ts';

/** Why a backup, or a round of continuous backup, failed last. In the store, so that every process and the next start know it. */
export interface LastFailure {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly what: 'snapshot' | 'continuous';
  readonly code: string;
  /** A sentence that names the target. */
  readonly message: string;
}

/** Beside the journal and not in it, so that a failing backup makes no commits. */
const key = 'backup-failure';

/** Undefined if none has failed since the store was made or restored. */
export function lastFailureOf({ root }: Store): LastFailure | undefined {
  root.resetReadTxn();
  const text = root.get(key);
  return text === undefined ? undefined : (JSON.parse(text) as LastFailure);
}

export function noteFailure(store: Store, failure: LastFailure): void {
  store.write(() => store.root.putSync(key, JSON.stringify(failure)));
}

/** Of a restored store: what failed belongs to the store that was backed up. */
export function clearFailure({ root }: Store): void {
  root.removeSync(key);
}

import { entryTextsFrom, lastEntry } from '../log/journal.ts';
import { shippedOf } from '../log/retained.ts';
import type { Store } from '../store.ts';

/** How far continuous backup is. */
export interface ShippingProgress {
  /** The number of the last commit in a segment; undefined if no chain of segments has begun. */
  readonly position: number | undefined;
  /** The number of the last commit of the store; 0 without commits. */
  readonly storePosition: number;
  /** When the first commit that is in no segment was made, in milliseconds since 1970; undefined if all are in segments. */
  readonly pendingSince: number | undefined;
}

export function progressOf(store: Store): ShippingProgress {
  store.root.resetReadTxn();
  const position = shippedOf(store)?.position;
  const storePosition = lastEntry(store)?.commit ?? position ?? 0;
  const [pending] = position === undefined ? [] : entryTextsFrom(store, position + 1);
  const progress = { position, storePosition, pendingSince: pending?.at };
  // The snapshot would keep old pages from being used again.
  store.root.resetReadTxn();
  return progress;
}

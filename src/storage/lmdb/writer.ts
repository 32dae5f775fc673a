import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal, Write } from '../engine.ts';
import { type Item, itemText } from '../item-text.ts';
import { itemKey, openSpaces } from './spaces.ts';

/**
 * The thread that writes. A transaction is made, flushed and waited for here, so that neither its work nor its
 * flush holds up the requests of the main thread.
 */
export type Batch = readonly (readonly Write[])[];
/** Refusals by the index of their commit; most have none. */
export type Outcome =
  | { readonly kind: 'durable'; readonly refusals: Readonly<Record<number, Refusal>> }
  | { readonly kind: 'failed'; readonly reason: string };

/** Anything else is a batch, as JSON. */
export const closeMessage = 'close';

const { root, made, items } = openSpaces(workerData as string);

parentPort?.on('message', (message: string) => {
  if (message === closeMessage) void root.close().then(() => parentPort?.close());
  else parentPort?.postMessage(commit(JSON.parse(message) as Batch));
});

function commit(batch: Batch): Outcome {
  try {
    const outcomes = root.transactionSync(() => batch.map(apply));
    const refused = outcomes.flatMap((refusal, index) =>
      refusal === undefined ? [] : [[index, refusal] as const],
    );
    return { kind: 'durable', refusals: Object.fromEntries(refused) };
  } catch (error) {
    return { kind: 'failed', reason: (error as Error).message };
  }
}

/** All conditions first, so that a refused commit has changed nothing. */
function apply(writes: readonly Write[]): Refusal | undefined {
  for (const [index, write] of writes.entries()) {
    const reason = refusalOf(write);
    if (reason !== undefined) return { write: index, reason };
  }
  for (const write of writes) carryOut(write);
  return undefined;
}

function refusalOf(write: Write): Refusal['reason'] | undefined {
  const text = items.get(itemKey(write.space, write.id));
  if (write.kind === 'create') {
    if (text !== undefined) return 'exists';
    return write.makeSpace || made.get(write.space) !== undefined ? undefined : 'space_missing';
  }
  if (text === undefined) return 'missing';
  if (write.ifValue === undefined) return undefined;
  return (JSON.parse(text) as Item).name === write.ifValue ? undefined : 'differs';
}

function carryOut(write: Write): void {
  const key = itemKey(write.space, write.id);
  if (write.kind === 'delete') {
    items.removeSync(key);
    return;
  }
  if (write.kind === 'create' && made.get(write.space) === undefined) made.putSync(write.space, '{}');
  items.putSync(key, itemText(write.id, write.value));
}

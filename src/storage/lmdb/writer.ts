import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal, Write } from '../engine.ts';
import { type Item, itemText } from '../item-text.ts';
import { itemKey, openSpaces } from './spaces.ts';

/**
 * The thread that writes. A transaction is made, flushed and waited for here, so that neither its work nor its
 * flush holds up the requests of the main thread.
 */
export type Batch = readonly (readonly Write[])[];
export type Outcome =
  | { readonly kind: 'durable'; readonly refusals: readonly (Refusal | undefined)[] }
  | { readonly kind: 'failed'; readonly reason: string };

const { root, made, items } = openSpaces(workerData as string);

parentPort?.on('message', (batch: Batch | 'close') => {
  if (batch === 'close') void root.close().then(() => parentPort?.close());
  else parentPort?.postMessage(commit(batch));
});

function commit(batch: Batch): Outcome {
  try {
    return { kind: 'durable', refusals: root.transactionSync(() => batch.map(apply)) };
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

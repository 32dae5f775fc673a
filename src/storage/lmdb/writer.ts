import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { Refusal } from '../engine.ts';
import { type Batch, Committer } from './committer.ts';
import { DiskProbe, type Failure, isSystemError } from './failure.ts';
import { fillUp } from './format.ts';
import { compactionClosingMsMax, compactionIdleMs, compactionStepSize } from './limits.ts';
import { openStore } from './store.ts';

/**
 * The thread that writes. A transaction is made, flushed and waited for here, so that neither its work nor its
 * flush holds up the requests of the main thread.
 */
export type Outcome =
  /** Refusals by the index of their commit; most have none. */
  | { readonly kind: 'durable'; readonly refusals: Readonly<Record<number, Refusal>> }
  /** Nothing of the batch was written. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** What is on disk is not known: the process must end. Also comes when nobody asked. */
  | { readonly kind: 'lost'; readonly reason: string };

/** Anything else is a batch, as JSON. */
export const closeMessage = 'close';

/** What the thread is given. */
export interface WriterData {
  readonly file: string;
  readonly diskReserveBytes: number;
}

const { file, diskReserveBytes } = workerData as WriterData;
const store = openStore(file);
/** In the journal, in a leaf that is rewritten for it, and what is folded beside it. */
const bytesPerCharacter = 8;
const committer = new Committer(store);
const probe = new DiskProbe(file, diskReserveBytes);
let lastCommitAt = 0;
let isFolding = false;
let isClosing = false;

parentPort?.on('message', (message: string) => {
  if (message === closeMessage) void close();
  else parentPort?.postMessage(commit(message));
});

void foldWhenIdle();

function commit(message: string): Outcome {
  lastCommitAt = performance.now();
  const outcome = attempt(message.length, (): Outcome => {
    const refusals = committer.carryOut(JSON.parse(message) as Batch);
    const refused = refusals.flatMap((refusal, index) =>
      refusal === undefined ? [] : [[index, refusal] as const],
    );
    return { kind: 'durable', refusals: Object.fromEntries(refused) };
  });
  if (!isFolding) void foldWhenIdle();
  return outcome;
}

/** One transaction. @param size of what it writes anew, in characters; `work` is what happens before its flush */
function attempt(size: number, work: () => Outcome): Outcome {
  const failure = probe.whyUnwritable(size * bytesPerCharacter);
  if (failure !== undefined) return { kind: 'failed', failure };
  let isWorked = false;
  try {
    return store.write(() => {
      const outcome = work();
      isWorked = true;
      return outcome;
    });
  } catch (error) {
    committer.forget();
    const reason = (error as Error).message;
    if (isWorked || isSystemError(error as Error)) return { kind: 'lost', reason };
    return { kind: 'failed', failure: { kind: 'other', reason } };
  }
}

/** What a busy time, or a process before, has left in the journal goes into the leaves when nobody waits for the store. */
async function foldWhenIdle(): Promise<void> {
  isFolding = true;
  do {
    await sleep(compactionIdleMs, undefined, { ref: false });
    if (performance.now() - lastCommitAt < compactionIdleMs || isClosing) continue;
    const outcome = foldStep();
    if (outcome.kind === 'lost') parentPort?.postMessage(outcome);
    // The next commit meets the same trouble, and has somebody to tell.
    if (outcome.kind !== 'durable') break;
  } while (committer.hasUnfolded && !isClosing);
  isFolding = false;
}

function foldStep(): Outcome {
  return attempt(compactionStepSize, () => {
    committer.fold(compactionStepSize);
    return { kind: 'durable', refusals: {} };
  });
}

async function close(): Promise<void> {
  isClosing = true;
  // The next start reads what is in the journal before it answers anything.
  const until = performance.now() + compactionClosingMsMax;
  while (foldStep().kind === 'durable' && committer.hasUnfolded && performance.now() < until);
  // Within a transaction, so that no other process writes meanwhile.
  attempt(0, () => {
    fillUp(file);
    return { kind: 'durable', refusals: {} };
  });
  await store.close();
  parentPort?.close();
}

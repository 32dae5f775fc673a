import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { DiskProbe, type Failure, isSystemError } from '../file/failure.ts';
import { fillUp } from '../file/format.ts';
import { compactionClosingMsMax, compactionIdleMs, compactionStepSize } from '../limits.ts';
import { openStore, reusableBytes } from '../store.ts';
import { type Batch, type CommitResult, Committer } from './committer.ts';

/**
 * The messages of the writer thread. The thread executes and flushes each transaction, so that neither the work nor the flush blocks
 * requests on the main thread.
 */
export type WriterMessage =
  /** The rejected commits, by their index in the batch; mostly none. */
  | { readonly kind: 'durable'; readonly rejections: Readonly<Record<number, CommitResult>> }
  /** Nothing of the batch was written. */
  | { readonly kind: 'failed'; readonly failure: Failure }
  /** The answer to `repairMessage`. */
  | { readonly kind: 'repaired' }
  /** Comes in addition to the outcome of a batch, which may still be durable. */
  | { readonly kind: 'damaged'; readonly problem: string }
  /** The state on disk is unknown: the process must end. This message may come without a request. */
  | { readonly kind: 'lost'; readonly reason: string };

/** The outcome of a batch. */
export type BatchOutcome = Extract<WriterMessage, { kind: 'durable' | 'failed' }>;

/** Every other message is a batch, as JSON. */
export const closeMessage = 'close';
/**
 * Asks for a transaction that changes nothing. It waits for a running transaction of another process. If a process died in its
 * transaction, LMDB corrects the number of the last transaction, at which readers begin.
 */
export const repairMessage = 'repair';

/** The thread's `workerData`. */
export interface WriterData {
  readonly file: string;
  readonly diskReserveBytes: number;
}

const { file, diskReserveBytes } = workerData as WriterData;
const store = openStore(file, {
  isChecked: true,
  damaged: (problem) => parentPort?.postMessage({ kind: 'damaged', problem } satisfies WriterMessage),
});
/** Bytes written for each character: in the journal, in the rewritten leaf, and by the compaction in the same transaction. */
const bytesPerCharacter = 8;
const committer = new Committer(store);
const probe = new DiskProbe(file, () => reusableBytes(store), diskReserveBytes);
let lastCommitAt = 0;
let isCompacting = false;
let isClosing = false;

parentPort?.on('message', (message: string) => {
  if (message === closeMessage) void close();
  else if (message === repairMessage) repair();
  else parentPort?.postMessage(commit(message));
});

void compactWhenIdle();

function commit(message: string): WriterMessage {
  lastCommitAt = performance.now();
  const batch = JSON.parse(message) as Batch;
  const size = { all: message.length, freeing: () => freeingSize(batch) };
  const outcome = attempt(size, (mayGrow): WriterMessage => {
    const found = committer.carryOut(batch, mayGrow);
    const rejections = found.flatMap((rejection, index) =>
      rejection === undefined ? [] : [[index, rejection] as const],
    );
    return { kind: 'durable', rejections: Object.fromEntries(rejections) };
  });
  if (!isCompacting) void compactWhenIdle();
  return outcome;
}

function repair(): void {
  try {
    store.write(() => undefined);
  } catch {
    // The next commit fails in the same way, and reports it to its caller.
  }
  parentPort?.postMessage({ kind: 'repaired' } satisfies WriterMessage);
}

/** A commit of creates alone never frees space. */
function freeingSize(batch: Batch): number {
  const freeing = batch.filter((writes) => writes.some(({ kind }) => kind !== 'create' && kind !== 'check'));
  return JSON.stringify(freeing).length;
}

/** The size of new data in characters: of all commits, and of the commits that may free space. */
interface Size {
  readonly all: number;
  readonly freeing: () => number;
}

/** Runs one transaction, with `work` before its flush. Unless `mayGrow`, the work may make only commits that free space. */
function attempt({ all, freeing }: Size, work: (mayGrow: boolean) => WriterMessage): WriterMessage {
  const failure = probe.whyUnwritable(all * bytesPerCharacter, () => freeing() * bytesPerCharacter);
  if (failure !== undefined && failure.kind !== 'low') return { kind: 'failed', failure };
  let isWorkDone = false;
  try {
    const outcome = store.write(() => {
      const found = work(failure === undefined);
      isWorkDone = true;
      return found;
    });
    probe.note(committer.lastCommit);
    return outcome;
  } catch (error) {
    committer.forget();
    const reason = (error as Error).message;
    if (isWorkDone || isSystemError(error as Error)) return { kind: 'lost', reason };
    return { kind: 'failed', failure: { kind: 'other', reason } };
  }
}

/** While the store is idle, compacts what a busy time or an earlier process has left in the journal. */
async function compactWhenIdle(): Promise<void> {
  isCompacting = true;
  do {
    await sleep(compactionIdleMs, undefined, { ref: false });
    if (performance.now() - lastCommitAt < compactionIdleMs || isClosing) continue;
    const outcome = compactStep();
    if (outcome.kind === 'lost') parentPort?.postMessage(outcome);
    // The next commit fails in the same way, and reports it to its caller.
    if (outcome.kind !== 'durable') break;
  } while (committer.canCompact && !isClosing);
  isCompacting = false;
}

function compactStep(): WriterMessage {
  return attempt(equalSize(compactionStepSize), () => {
    committer.compactIdle(compactionStepSize);
    return { kind: 'durable', rejections: {} };
  });
}

function equalSize(all: number): Size {
  return { all, freeing: () => all };
}

async function close(): Promise<void> {
  isClosing = true;
  // The next start reads the journal first, so a shorter one makes it faster.
  const until = performance.now() + compactionClosingMsMax;
  while (compactStep().kind === 'durable' && committer.canCompact && performance.now() < until);
  // The transaction keeps other processes from writing meanwhile.
  attempt(equalSize(0), () => {
    fillUp(file);
    return { kind: 'durable', rejections: {} };
  });
  await store.close();
  parentPort?.close();
}

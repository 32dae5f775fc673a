import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ServiceError } from '../../errors.ts';
import { commitWritesMax, scanChunkBytes, smallSpacesKeptMax } from '../../limits.ts';
import type { Chunks, Engine, Refusal, ScanOptions, Space, Write } from '../engine.ts';
import type { Item } from '../item-text.ts';
import { GroupCommit } from './group-commit.ts';
import { itemKey, openSpaces, type Spaces } from './spaces.ts';
import type { Batch, closeMessage, Outcome } from './writer.ts';

/**
 * The embedded engine: LMDB in a folder of its own, one entry per item. This thread reads, another one writes.
 *
 * @param folder made if it is missing; one service at a time may have it open
 */
export function openLmdbEngine(folder: string): Engine {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return new LmdbEngine(join(folder, 'store.mdb'));
}

class LmdbEngine implements Engine {
  readonly #spaces: Spaces;
  readonly #writer: Worker;
  #closing = false;
  readonly #smallSpaces = new Map<Space, readonly Buffer[]>();
  readonly #commits = new GroupCommit<readonly Write[], Refusal | undefined>((batch) => this.#flush(batch));

  constructor(file: string) {
    this.#spaces = openSpaces(file);
    this.#writer = new Worker(new URL(`./writer${extname(import.meta.url)}`, import.meta.url), {
      workerData: file,
    });
    // Without its writer the store is lost to this process: it ends, and what was left is recovered at its next start.
    this.#writer.on('error', (error) => {
      throw error;
    });
  }

  async get(space: Space, id: string): Promise<string | undefined> {
    const text = this.#spaces.items.get(itemKey(space, id));
    return text === undefined ? undefined : (JSON.parse(text) as Item).name;
  }

  async scan(space: Space, options: ScanOptions = {}): Promise<Chunks | undefined> {
    const whole = options.after === undefined && options.limit === undefined;
    const kept = whole ? this.#smallSpaces.get(space) : undefined;
    if (kept !== undefined) return kept;
    if (this.#spaces.made.get(space) === undefined) return undefined;
    return whole ? this.#keepIfSmall(space) : this.#chunks(space, options);
  }

  async commit(writes: readonly Write[]): Promise<Refusal | undefined> {
    if (writes.length === 0 || writes.length > commitWritesMax) {
      throw new RangeError(`a commit takes 1 to ${commitWritesMax} writes`);
    }
    if (this.#closing) throw new ServiceError('unavailable', { detail: 'the store is closed' });
    return this.#commits.add(writes);
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#commits.drain();
    const ended = once(this.#writer, 'exit');
    this.#writer.postMessage('close' satisfies typeof closeMessage);
    await ended;
    await this.#spaces.root.close();
  }

  /** The range keeps its own snapshot from the first entry to the last, or to where the reader leaves. */
  #chunks(space: Space, { after, limit }: ScanOptions): Iterable<Buffer> {
    const entries = this.#spaces.items.getRange({
      start: after === undefined ? itemKey(space, '') : itemKey(space, after),
      exclusiveStart: after !== undefined,
      end: `${space}\x01`,
      ...(limit === undefined ? {} : { limit }),
    });
    return joined(entries);
  }

  /**
   * A space of one chunk is kept as it was read, until the next commit that touches it. A larger one is read anew
   * from its first chunk, by whoever takes it: a scan that is never begun must not hold a snapshot.
   */
  #keepIfSmall(space: Space): Iterable<Buffer> {
    const whole: Buffer[] = [];
    for (const chunk of this.#chunks(space, {})) {
      if (whole.length === 1) return this.#chunks(space, {});
      whole.push(chunk);
    }
    if (this.#smallSpaces.size >= smallSpacesKeptMax) this.#smallSpaces.clear();
    this.#smallSpaces.set(space, whole);
    return whole;
  }

  async #flush(batch: Batch): Promise<readonly (Refusal | undefined)[]> {
    const answered = once(this.#writer, 'message');
    // As text: copying it costs a fraction of what cloning its objects does.
    this.#writer.postMessage(JSON.stringify(batch));
    const [outcome] = (await answered) as [Outcome];
    // Before any of the writers hears of it: who then reads must see the write.
    for (const writes of batch) for (const { space } of writes) this.#smallSpaces.delete(space);
    this.#spaces.root.resetReadTxn();
    if (outcome.kind === 'durable') return batch.map((_, index) => outcome.refusals[index]);
    throw new ServiceError('unavailable', { detail: `the store could not commit: ${outcome.reason}` });
  }
}

/** Entries as runs of about `scanChunkBytes`, their values joined by commas. */
function* joined(entries: Iterable<{ value: string }>): Generator<Buffer> {
  let texts: string[] = [];
  let characters = 0;
  for (const { value } of entries) {
    texts.push(value);
    characters += value.length;
    if (characters >= scanChunkBytes) {
      yield Buffer.from(texts.join());
      texts = [];
      characters = 0;
    }
  }
  if (texts.length > 0) yield Buffer.from(texts.join());
}

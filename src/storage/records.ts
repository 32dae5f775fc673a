import { setImmediate as turn } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import type { Engine, Rejection, ScanOptions, ServiceSpace, Space, Write } from './engine.ts';
import { type Item, itemsOf, pagesOf } from './item-text.ts';
import { commitWritesMax } from './limits.ts';

/** A record as it was read: its value, and its text, with which a later write compares. */
export interface Stored<Value> {
  readonly id: string;
  readonly value: Value;
  readonly text: string;
}

/** What `Records.change` commits. */
export interface Change<Value> {
  /** The record afterwards; undefined deletes it. */
  readonly value: Value | undefined;
  /** Writes of other records in the same commit. */
  readonly also?: readonly Write[];
}

export interface Changed<Value> {
  /** The record after the call; undefined if there is none. */
  readonly value: Value | undefined;
  /** Whether this call changed it. */
  readonly isChanged: boolean;
}

/**
 * The records of one of the service's own spaces: JSON values, each under an id. A method that returns a `Write` writes nothing: commit the
 * write together with others. Every method may reject as the engine does, and with RecordDamaged.
 */
export class Records<Value extends object> {
  readonly space: Space;
  readonly #name: ServiceSpace;
  readonly #engine: Engine;

  constructor(engine: Engine, space: ServiceSpace) {
    this.#engine = engine;
    this.#name = space;
    this.space = `service:${space}`;
  }

  async get(id: string): Promise<Value | undefined> {
    return (await this.find(id))?.value;
  }

  async find(id: string): Promise<Stored<Value> | undefined> {
    const text = await this.#engine.get(this.space, id);
    return text === undefined ? undefined : this.stored(id, text);
  }

  /** Reads the text of a record. Throws RecordDamaged. */
  stored(id: string, text: string): Stored<Value> {
    return { id, text, value: parseRecord<Value>(this.space, id, text) };
  }

  /** All records, sorted by id, as one scan: a snapshot if the engine has snapshots. */
  async *list(options: ScanOptions = {}): AsyncGenerator<Stored<Value>> {
    const scan = await this.#engine.scan(this.space, options);
    for await (const item of itemsOf(scan?.chunks ?? [])) yield this.#read(item);
  }

  /**
   * All records, sorted by id, in pages of `scanPageItemsMax`. Each page is a new scan, so that a long list holds no snapshot. Requests run
   * between the pages. @param after only records after this id
   */
  async *pages(after?: string): AsyncGenerator<readonly Stored<Value>[]> {
    for await (const page of pagesOf(this.#engine, this.space, after)) {
      yield page.map((item) => this.#read(item));
      await turn();
    }
  }

  /** Rejected with `exists` if there is such a record. */
  creation(id: string, value: Value): Write {
    return creation(this.#name, id, value);
  }

  /** Rejected if the record has changed since it was read. */
  replacement({ id, text }: Pick<Stored<Value>, 'id' | 'text'>, value: Value): Write {
    return { kind: 'replace', space: this.space, id, value: JSON.stringify(value), ifValue: text };
  }

  /** Creates the record, or replaces the one that was read. Rejected if it has changed since. */
  saving(id: string, before: Stored<Value> | undefined, value: Value): Write {
    return before === undefined ? this.creation(id, value) : this.replacement(before, value);
  }

  /** Rejected if the record has changed since it was read. */
  deletion({ id, text }: Pick<Stored<Value>, 'id' | 'text'>): Write {
    return { kind: 'delete', space: this.space, id, ifValue: text };
  }

  /** Changes nothing. Rejected if the record has changed since it was read, or exists although none was found. */
  check(id: string, before: Stored<Value> | undefined): Write {
    return { kind: 'check', space: this.space, id, ifValue: before?.text ?? null };
  }

  /**
   * Changes a record, and retries if it was changed meanwhile. Throws WriteRejected if one of the other writes is rejected.
   *
   * @param change called for each attempt; returns undefined to change nothing
   * @param known the record as it was last read, or `none` if there is probably no record. If that still holds, it saves the first read
   */
  async change(
    id: string,
    change: (before: Value | undefined) => Change<Value> | undefined | Promise<Change<Value> | undefined>,
    known?: Stored<Value> | 'none',
  ): Promise<Changed<Value>> {
    for (let last = known; ; last = undefined) {
      const before = last === 'none' ? undefined : (last ?? (await this.find(id)));
      const changed = await change(before?.value);
      if (changed === undefined) return { value: before?.value, isChanged: false };
      const { value, also = [] } = changed;
      if (value === undefined && before === undefined)
        throw new Error(`there is no ${id} in ${this.space} to delete`);
      const write =
        value === undefined ? this.deletion(before as Stored<Value>) : this.saving(id, before, value);
      const rejection = await this.#engine.commit([write, ...also]);
      if (rejection === undefined) return { value, isChanged: true };
      if (rejection.write !== 0) throw new WriteRejected(rejection, also[rejection.write - 1]);
    }
  }

  /** Deletes the records that are over, except those that change meanwhile. */
  async sweep(isOver: (value: Value) => boolean, signal: AbortSignal): Promise<void> {
    for await (const page of this.pages()) {
      if (signal.aborted) return;
      const over = page.filter(({ value }) => isOver(value)).map((stored) => this.deletion(stored));
      for (let first = 0; first < over.length; first += commitWritesMax)
        await this.#deleteEach(over.slice(first, first + commitWritesMax));
    }
  }

  async #deleteEach(deletions: readonly Write[]): Promise<void> {
    if ((await this.#engine.commit(deletions)) === undefined) return;
    for (const deletion of deletions) await this.#engine.commit([deletion]);
  }

  #read({ id, name }: Item): Stored<Value> {
    return this.stored(id, name);
  }
}

/** The write that creates a record, for code without an engine. Rejected with `exists` if there is such a record. */
export function creation(space: ServiceSpace, id: string, value: object): Write {
  return { kind: 'create', space: `service:${space}`, id, value: JSON.stringify(value), makeSpace: true };
}

/** A record is not the JSON text of an object or list: something other than this service has changed the store. */
export class RecordDamaged extends ServiceError {
  constructor(space: Space, id: string, cause?: unknown) {
    super('internal', { detail: `the record ${id} in ${space} is damaged`, cause });
  }
}

/** One of the writes beside a record was rejected, so nothing was written. */
export class WriteRejected extends Error {
  readonly write: Write | undefined;
  readonly reason: Rejection['reason'];

  constructor({ reason }: Rejection, write: Write | undefined) {
    super(`${write?.kind} in ${write?.space} failed: ${reason}`);
    this.write = write;
    this.reason = reason;
  }
}

function parseRecord<Value extends object>(space: Space, id: string, text: string): Value {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RecordDamaged(space, id, error);
  }
  if (typeof value !== 'object' || value === null) throw new RecordDamaged(space, id);
  return value as Value;
}

import assert from 'node:assert/strict';
import { Caller } from '../caller.ts';
import { writeTable } from '../tables/table-operations.ts';

/** The name that carries a number; long enough for a table of tens of thousands to be answered in many pieces. */
export function nameAs(number: number): string {
  return `${number}:${'.'.repeat(560)}`;
}

/** Counts through its items, round after round: its write number n gives the next of them the name of n. */
export class CountingWriter {
  readonly #table: string;
  readonly #ids: readonly string[];
  /** The number of the last write that was sent. */
  sent = 0;
  /** The number of the last write that was acknowledged. */
  acknowledged = 0;

  constructor(table: string, ids: readonly string[]) {
    this.#table = table;
    this.#ids = ids;
  }

  async keepWriting(origin: string, isOver: () => boolean): Promise<void> {
    const caller = new Caller(origin);
    while (!isOver()) {
      this.sent++;
      const id = this.#ids[(this.sent - 1) % this.#ids.length] as string;
      const write = { kind: 'update', id, name: nameAs(this.sent) } as const;
      const response = await writeTable(caller, this.#table, [write]);
      assert.ok(response.kind === 'responded' && response.status === 200, 'an update is answered 200');
      this.acknowledged = this.sent;
    }
    caller.close();
  }

  /** How far it had come in the state that these names are of. Throws when they are of no single state. */
  shownIn(names: ReadonlyMap<string, string>): number {
    const numbers = this.#ids.map((id) => Number.parseInt(names.get(id) ?? '', 10));
    const last = Math.max(...numbers);
    for (const [index, id] of this.#ids.entries()) {
      assert.equal(names.get(id), nameAs(this.#numberAt(index, last)), `${id} as of write ${last}`);
    }
    return last;
  }

  /** The last write to an item, up to and including `last`; 0 where it has not been written. */
  #numberAt(index: number, last: number): number {
    const behind = (((last - 1 - index) % this.#ids.length) + this.#ids.length) % this.#ids.length;
    return Math.max(0, last - behind);
  }
}

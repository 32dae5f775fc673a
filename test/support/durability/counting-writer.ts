import assert from 'node:assert/strict';
import { Caller } from '../caller.ts';
import { writeTable } from '../tables/table-operations.ts';

/** A name with a number; so long that a table of tens of thousands of items is sent in many chunks. */
export function nameAs(number: number): string {
  return `${number}:${'.'.repeat(560)}`;
}

/** Updates its items in turn, round after round: write number n gives the next item the name of n. */
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
      assert.ok(response.kind === 'responded' && response.status === 200, 'an update returns 200');
      this.acknowledged = this.sent;
    }
    caller.close();
  }

  /** The number of the last write in the state with these names. Throws when they are from several states. */
  shownIn(names: ReadonlyMap<string, string>): number {
    const numbers = this.#ids.map((id) => Number.parseInt(names.get(id) ?? '', 10));
    const last = Math.max(...numbers);
    for (const [index, id] of this.#ids.entries()) {
      assert.equal(names.get(id), nameAs(this.#numberAt(index, last)), `${id} as of write ${last}`);
    }
    return last;
  }

  /** The number of the last write to an item, up to and including `last`; 0 if there was none. */
  #numberAt(index: number, last: number): number {
    const behind = (((last - 1 - index) % this.#ids.length) + this.#ids.length) % this.#ids.length;
    return Math.max(0, last - behind);
  }
}

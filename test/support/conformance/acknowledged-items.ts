import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Space } from '../../../src/storage/engine.ts';
import { itemsOf } from '../../../src/storage/item-text.ts';
import { openLmdbEngine } from '../../../src/storage/lmdb/open.ts';
import { givenUpMs } from '../busy-machine.ts';
import { Caller } from '../caller.ts';
import { writeTable } from '../tables/table-operations.ts';

const writers = 4;
const name = 'x'.repeat(200);

/** Writers that create the items 0, 1, 2 … in a table each, and when each was acknowledged. */
export class AcknowledgedItems {
  /** By writer and item, in milliseconds since 1970. */
  readonly #times: number[][] = Array.from({ length: writers }, () => []);
  readonly #running: Promise<void>[];
  #isStopped = false;

  constructor(origin: string) {
    this.#running = this.#times.map((times, writer) => this.#write(origin, times, `w${writer}`));
  }

  /** The number of items by writer that were acknowledged at or before a moment. */
  upTo(moment: number): readonly number[] {
    return this.#times.map((times) => times.filter((time) => time <= moment).length);
  }

  /** Waits until each writer has made so many more items. */
  async grow(more: number): Promise<void> {
    const goals = this.#times.map(({ length }) => length + more);
    for (const giveUpAt = Date.now() + givenUpMs; ; await sleep(5)) {
      if (this.#times.every(({ length }, writer) => length >= (goals[writer] ?? 0))) return;
      assert.ok(Date.now() < giveUpAt, 'the writers stand still');
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  async #write(origin: string, times: number[], table: string): Promise<void> {
    const caller = new Caller(origin);
    while (!this.#isStopped) {
      const response = await writeTable(caller, table, [{ kind: 'create', id: `${times.length}`, name }]);
      assert.ok(response.kind === 'responded' && response.status === 200, JSON.stringify(response));
      times.push(Date.now());
      // Many items make restores slow.
      await sleep(5);
    }
    caller.close();
  }
}

/** Throws unless a store has the items of each writer in an unbroken row, and so many of them at least. */
export async function assertHasItems(data: string, least: readonly number[], what: string): Promise<void> {
  const engine = openLmdbEngine(data);
  try {
    for (const [writer, count] of least.entries()) {
      const space: Space = `table:w${writer}`;
      const numbers: number[] = [];
      for await (const { id } of itemsOf((await engine.scan(space))?.chunks ?? [])) numbers.push(Number(id));
      numbers.sort((one, other) => one - other);
      assert.deepEqual(numbers, [...numbers.keys()], `${what}: the items of writer ${writer} have gaps`);
      assert.ok(numbers.length >= count, `${what}: ${numbers.length} of ${count} items of writer ${writer}`);
    }
  } finally {
    await engine.close();
  }
}

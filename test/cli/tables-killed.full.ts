import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Counterfoil, type CounterfoilError, type Table } from '../../client/src/index.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { count as extent } from '../support/extent.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { startTableCommands } from '../support/tables/table-commands.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const count = extent({ short: 20_000, long: 10_000_000 });
const kills = extent({ short: 5, long: 20 });
const batch = 100;
/** A start skips what is there before it writes: at 10,000 rows a second, on a busy machine. */
const silenceMsMax = givenUpMs + count / 10;

const idOf = (row: number) => `item-${String(row).padStart(8, '0')}`;
const nameOf = (row: number) => `name of ${row} 😀"\n`;

for (const [place, order] of [
  ['store', 'shuffled'],
  ['service', 'ascending'],
] as const) {
  test(`tables import of ${count} ${order} rows in a ${place}: ${kills} kills leave whole batches, and the same import with skip continues`, async (t) => {
    const random = randomFrom(seedOf(t));
    const { service, env, folder, options, run } = await startTableCommands(t, place);
    const table = new Counterfoil({ url: service.origin }).table('books');
    const file = join(folder, 'all.jsonl');
    await writeRows(file, order === 'ascending' ? (row) => row : shuffle(random));
    const args = ['tables', 'import', 'books', file, '--on-conflict', 'skip', ...options];
    const items = async (): Promise<number> =>
      (await service.get('/v3/table/books/read?count=true')).json.body.count ?? 0;
    const moments = Array.from({ length: kills }, () => between(random, 0, count - 1)).sort((a, b) => a - b);
    for (const moment of moments) {
      const child = spawn(process.execPath, [program, ...args], {
        ...{ cwd: folder, env: { PATH: process.env.PATH ?? '', ...env } },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      const ended = once(child, 'exit');
      let until = performance.now() + silenceMsMax;
      for (let last = -1, now = await items(); now < moment; now = await items()) {
        assert.ok(performance.now() < until, `no item is written after ${now}`);
        if (now > last) until = performance.now() + silenceMsMax;
        last = now;
        await sleep(between(random, 0, 5));
      }
      child.kill('SIGKILL');
      await ended;
      await checkBatchesPatiently(table);
    }
    const left = await items();
    const resumed = await run('import', 'books', file, '--on-conflict', 'skip', '--json');
    assert.equal(resumed.errors, '');
    const { written, skipped } = JSON.parse(resumed.output);
    assert.equal(written + skipped, count);
    assert.ok(skipped >= left, 'what was written is skipped');
    assert.equal(await checkBatchesPatiently(table), count);
  });
}

/** A permutation of the rows. */
function shuffle(random: () => number): (row: number) => number {
  const rows = Uint32Array.from({ length: count }, (_, row) => row);
  for (let row = count - 1; row > 0; row--) {
    const other = between(random, 0, row);
    [rows[row], rows[other]] = [rows[other] as number, rows[row] as number];
  }
  return (row) => rows[row] as number;
}

async function writeRows(file: string, rowAt: (n: number) => number): Promise<void> {
  const stream = createWriteStream(file);
  for (let row = 0; row < count; row += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, n) => rowAt(row + n));
    const text = rows.map((each) => `${JSON.stringify({ id: idOf(each), name: nameOf(each) })}\n`).join('');
    if (!stream.write(text)) await once(stream, 'drain');
  }
  stream.end();
  await finished(stream);
}

/** A machine that is so busy that the service takes the test for a stalled reader is no fault of the import. */
async function checkBatchesPatiently(table: Table): Promise<number> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await checkBatches(table);
    } catch (error) {
      if ((error as CounterfoilError).code !== 'network_error' || attempts === 5) throw error;
    }
  }
}

/**
 * Each batch is in the table whole and unchanged, or not at all. A service may still write the last one of a killed command.
 *
 * @returns the number of items
 */
async function checkBatches(table: Table): Promise<number> {
  let items = 0;
  try {
    for await (const { id, name } of table.all()) {
      const row = Number(id.slice('item-'.length));
      assert.deepEqual([id, name], [idOf(row), nameOf(row)]);
      items++;
    }
  } catch (error) {
    // No batch was written.
    if ((error as CounterfoilError).code !== 'table_not_found') throw error;
  }
  assert.equal(items % batch, 0);
  return items;
}

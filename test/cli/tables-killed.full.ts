import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { places, startTableCommands } from '../support/tables/table-commands.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const count = process.env.LONG === '1' ? 10_000_000 : 100_000;
const kills = 20;
const batch = 100;

const idOf = (row: number) => `item-${String(row).padStart(8, '0')}`;
const nameOf = (row: number) => `name of ${row} 😀"\n`;

for (const place of places) {
  test(`tables import in a ${place}: ${kills} kills leave whole batches, and the same import with skip completes ${count} rows`, async (t) => {
    const random = randomFrom(seedOf(t));
    const { service, env, folder, options, run } = await startTableCommands(t, place);
    const file = join(folder, 'all.jsonl');
    await writeRows(file, random);
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
      let until = performance.now() + givenUpMs;
      for (let last = -1, now = await items(); now < moment; now = await items()) {
        assert.ok(performance.now() < until, `no item is written after ${now}`);
        if (now > last) until = performance.now() + givenUpMs;
        last = now;
        await sleep(between(random, 0, 5));
      }
      child.kill('SIGKILL');
      await ended;
      await checkBatches(service.origin, await items());
    }
    const left = await items();
    const resumed = await run('import', 'books', file, '--on-conflict', 'skip', '--json');
    assert.deepEqual(
      [resumed.errors, resumed.output],
      ['', `${JSON.stringify({ table: 'books', written: count - left, skipped: left })}\n`],
    );
    await checkBatches(service.origin, count);
  });
}

/** Writes the rows of the file, in their order. */
async function writeRows(file: string, _random: () => number): Promise<void> {
  const stream = createWriteStream(file);
  for (let row = 0; row < count; row += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, n) => row + n);
    const text = rows.map((each) => `${JSON.stringify({ id: idOf(each), name: nameOf(each) })}\n`).join('');
    if (!stream.write(text)) await once(stream, 'drain');
  }
  stream.end();
  await finished(stream);
}

/** Each batch is in the table whole and unchanged, or not at all. */
async function checkBatches(origin: string, expected: number): Promise<void> {
  const response = await fetch(`${origin}/v3/table/books/read`);
  if (response.status === 404 && expected === 0) return;
  const { body } = (await response.json()) as { body: readonly { id: string; name: string }[] };
  assert.equal(body.length, expected);
  for (let n = 0; n < body.length; n += batch) {
    const first = Number(body[n]?.id.slice('item-'.length));
    assert.equal(first % batch, 0);
    for (let row = 0; row < batch; row++)
      assert.deepEqual(body[n + row], { id: idOf(first + row), name: nameOf(first + row) });
  }
}

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Space } from '../../src/storage/engine.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { openStoreToRead } from '../../src/storage/lmdb/store.ts';
import { count } from '../support/extent.ts';
import { between, type Random, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';

const space: Space = 'table:kept';
const memory = '/dev/shm';

test('opens an empty file as a new store only if a first start was killed before it had made one', async (t) => {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'store.mdb');
  writeFileSync(file, '');
  assert.throws(() => openLmdbEngine(folder), /store\.mdb is empty: what it held is lost/);
  assert.equal(statSync(file).size, 0, 'the file is not changed');
  writeFileSync(`${file}-making`, '');
  await assertWrites(folder);
});

test('opens a store whose first start was killed at any time', async (t) => {
  const random = randomFrom(seedOf(t));
  const sizes = new Set<number>();
  await Promise.all([firstStarts(t, random, sizes), firstStarts(t, random, sizes)]);
  t.diagnostic(`sizes left behind: ${[...sizes].sort((a, b) => a - b).join(', ')}`);
});

async function firstStarts(t: TestContext, random: Random, sizes: Set<number>): Promise<void> {
  for (let n = 0; n < count({ short: 6, long: 500 }); n++) {
    const folder = newDataFolder(t);
    const process = new EngineProcess(t, folder);
    await process.opening;
    // Opening takes a few milliseconds, and creates the file in the first ones.
    await sleep(between(random, 0, 12));
    await process.kill();
    const file = join(folder, 'store.mdb');
    sizes.add(existsSync(file) ? statSync(file).size : -1);
    await assertWrites(folder);
  }
}

async function assertWrites(folder: string): Promise<void> {
  for (const time of ['first', 'second']) {
    const engine = openLmdbEngine(folder);
    assert.equal(
      await engine.commit([{ kind: 'create', space, id: time, value: time, makeSpace: true }]),
      undefined,
    );
    assert.equal(await engine.get(space, 'first'), 'first');
    await engine.close();
  }
}

test('never takes a store for damaged while another process writes to it', async (t) => {
  // In memory, if possible, because flushes take no time there and the file grows faster.
  const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'counterfoil-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'store.mdb');
  const writer = await EngineProcess.open(t, folder);
  let isOver = false;
  const write = async (by: number) => {
    for (let n = 0; !isOver; n++) {
      const value = `${n}`.padEnd(between(Math.random, 1, 20_000));
      const id = n % 2 === 0 ? `${by} ${n}` : `${by} again`;
      const kind = n % 2 === 0 || n === 1 ? ('create' as const) : ('replace' as const);
      assert.equal(await writer.commit([{ kind, space, id, value, makeSpace: true }]), undefined);
    }
  };
  const writing = Promise.allSettled(Array.from({ length: 8 }, (_, by) => write(by)));
  const until = performance.now() + count({ short: 2_000, long: 120_000 });
  let checks = 0;
  try {
    while (performance.now() < until) {
      for (let n = 0; n < 10; n++) await openStoreToRead(file).close();
      checks += 10;
      await turn();
    }
    await openLmdbEngine(folder).close();
  } finally {
    isOver = true;
    assert.deepEqual(new Set((await writing).map(({ status }) => status)), new Set(['fulfilled']));
  }
  t.diagnostic(`${checks} checks while the file grew to ${statSync(file).size} bytes`);
});

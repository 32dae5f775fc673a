import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Space } from '../../src/storage/engine.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';

const space: Space = 'table:kept';
const holdMs = 500;
const program = join(import.meta.dirname, '../support/storage/mutex-holder.ts');

async function heldMutex(t: TestContext, file: string, ms: number): Promise<ChildProcess> {
  const holder = fork(program, [file, String(ms)], { execArgv: [] });
  t.after(() => holder.kill('SIGKILL'));
  while (!existsSync(`${file}-held`)) await sleep(5);
  return holder;
}

function commit(engine: Pick<EngineProcess, 'commit'>, id: string) {
  return engine.commit([{ kind: 'create', space, id, value: id, makeSpace: true }]);
}

test('writes nothing while another process opens the store', async (t) => {
  const folder = newDataFolder(t);
  const engine = openLmdbEngine(folder);
  t.after(() => engine.close());
  await commit(engine, 'before');
  await heldMutex(t, storeFile(folder), holdMs);
  assert.equal(await commit(engine, 'after'), undefined);
  assert.ok(existsSync(`${storeFile(folder)}-released`), 'the commit waited');
});

test('does not open the store while another process writes', async (t) => {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  await heldMutex(t, storeFile(folder), holdMs);
  await EngineProcess.open(t, folder);
  assert.ok(existsSync(`${storeFile(folder)}-released`), 'the opening waited');
});

test('continues when the process that holds the mutex is killed', async (t) => {
  const folder = newDataFolder(t);
  const engine = openLmdbEngine(folder);
  t.after(() => engine.close());
  const holder = await heldMutex(t, storeFile(folder), 60_000);
  const committed = commit(engine, 'after');
  const ended = once(holder, 'exit');
  holder.kill('SIGKILL');
  await ended;
  assert.equal(await committed, undefined);
});

test('creates one mutex for all processes that open a new store at once', async (t) => {
  const folder = newDataFolder(t);
  const processes = await Promise.all(Array.from({ length: 6 }, () => EngineProcess.open(t, folder)));
  const ids = processes.flatMap((_, by) => Array.from({ length: 20 }, (_, n) => `${by}-${n}`));
  const commits = ids.map((id) => commit(processes[Number(id[0])] as EngineProcess, id));
  assert.deepEqual(new Set(await Promise.all(commits)), new Set([undefined]));
  for (const by of processes) assert.equal((await by.describe(space))?.count, ids.length);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes('mutex')),
    ['store.mdb-mutex', 'store.mdb-mutex-lock'],
  );
});

test('creates the mutex although a process with the same id was killed while it created one', async (t) => {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  const draft = `${storeFile(folder)}-mutex-${process.pid}`;
  writeFileSync(draft, Buffer.alloc(100));
  await openLmdbEngine(folder).close();
  assert.ok(!existsSync(draft));
});

for (const [what, damage] of [
  ['truncated', (file: string) => truncateSync(file, 100)],
  ['empty', (file: string) => truncateSync(file, 0)],
  ['of zeros', (file: string) => writeFileSync(file, Buffer.alloc(8192))],
] as const) {
  test(`rejects a mutex whose file is ${what}, and says what to do`, async (t) => {
    const folder = newDataFolder(t);
    await openLmdbEngine(folder).close();
    damage(`${storeFile(folder)}-mutex`);
    assert.throws(() => openLmdbEngine(folder), {
      message: /store\.mdb-mutex is damaged; stop every process/,
    });
  });
}

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { startTuned } from '../support/http/stalled-clients.ts';
import { newDataFolder } from '../support/service.ts';

/** Also a busy disk flushes in less. */
const flushMsMax = 5_000;
const pauses = 2;

test('a service that was paused for longer than a flush may take goes on, and keeps every write', async (t) => {
  const { origin, pid } = await startTuned(t, { flushMsMax });
  const table = `${origin}/v3/table/books`;
  const written = new Set<string>();
  let isWriting = true;
  // Several callers, so that a flush is under way at nearly any time.
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = 0; isWriting; n++) {
      const id = `${writer}-${n}`;
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ id, name: '' });
      const { status } = await fetch(`${table}/create`, { method: 'POST', headers, body });
      assert.equal(status, 200);
      written.add(id);
    }
  });
  const writing = Promise.all(writers);
  writing.catch(() => undefined);
  for (let pause = 0; pause < pauses; pause++) {
    await sleep(200);
    process.kill(pid, 'SIGSTOP');
    await sleep(1.5 * flushMsMax);
    process.kill(pid, 'SIGCONT');
  }
  await sleep(200);
  isWriting = false;
  await writing;
  const { body } = (await (await fetch(`${table}/read`)).json()) as { body: { id: string }[] };
  assert.deepEqual(new Set(body.map(({ id }) => id)), written);
});

test('a flush that hangs while the process runs ends the process', async (t) => {
  const folder = newDataFolder(t);
  const lost = Promise.withResolvers<Error>();
  const engine = openLmdbEngine(folder, lost.resolve, { flushMsMax: 200 });
  const file = storeFile(folder);
  const holder = fork(
    join(import.meta.dirname, '../support/storage/mutex-holder.ts'),
    [file, `${givenUpMs}`],
    {
      execArgv: [],
    },
  );
  try {
    while (!existsSync(`${file}-held`)) await sleep(5);
    const began = performance.now();
    const commit = engine.commit([
      { kind: 'create', space: 'table:books', id: 'a', value: '', makeSpace: true },
    ]);
    commit.catch(() => undefined);
    assert.match((await lost.promise).message, /a flush hangs/);
    assert.ok(performance.now() - began >= 200);
  } finally {
    // Before the folder is removed: on a busy machine the writer may not have opened the store yet.
    holder.kill('SIGKILL');
    await engine.close();
  }
});

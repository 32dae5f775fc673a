import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Space } from '../../src/storage/engine.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { storeFile } from '../../src/storage/lmdb/open.ts';
import { need } from '../support/conformance/needs.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';

/**
 * A process opens the store while another one writes. Between reading the file's head and mapping the file it is
 * delayed, so that many transactions happen in the meantime. None of them may be lost (promise 8).
 */
need('strace');

const space: Space = 'table:kept';
const callers = 8;
const openings = 5;
const delayMs = 30;
const program = join(import.meta.dirname, '../support/storage/engine-child.ts');

test('loses nothing to a process that opens the store slowly while another one writes', async (t) => {
  const folder = newDataFolder(t);
  const writer = await EngineProcess.open(t, folder);
  const acknowledged: string[] = [];
  let isOver = false;
  const load = Array.from({ length: callers }, async (_, caller) => {
    for (let n = 0; !isOver; n++) {
      const id = `${caller}-${n}`;
      await writer.commit([{ kind: 'create', space, id, value: id, makeSpace: true }]);
      assert.equal(await writer.get(space, id), id, 'an acknowledged write is read');
      acknowledged.push(id);
    }
  });
  const opened = (async () => {
    for (let n = 0; n < openings; n++) await openSlowly(t, folder);
    isOver = true;
  })();
  await Promise.all([...load, opened]);
  // Its memory must not hide a loss in the file.
  await writer.kill();

  const after = await EngineProcess.open(t, folder);
  for (const id of acknowledged) assert.equal(await after.get(space, id), id);
  assert.deepEqual((await verifyStore(storeFile(folder))).problems, []);
  t.diagnostic(`${acknowledged.length} acknowledged during ${openings} openings`);
});

async function openSlowly(t: TestContext, folder: string): Promise<void> {
  const inject = `inject=mmap:delay_enter=${delayMs}ms`;
  const strace = spawn(
    'strace',
    [
      '-f',
      '-o',
      '/dev/null',
      '-P',
      storeFile(folder),
      '-e',
      'trace=mmap',
      '-e',
      inject,
      process.execPath,
      program,
      folder,
    ],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  t.after(() => strace.kill());
  await open(strace);
  const ended = once(strace, 'exit');
  strace.disconnect();
  await ended;
}

async function open(child: ChildProcess): Promise<void> {
  for await (const [word] of messagesOf(child)) if (word === 'open') return;
  throw new Error('it ended before it opened the store');
}

async function* messagesOf(child: ChildProcess): AsyncGenerator<unknown[]> {
  for (;;) {
    const message = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => undefined)]);
    if (message === undefined) return;
    yield message;
  }
}

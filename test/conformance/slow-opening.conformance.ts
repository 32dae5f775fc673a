import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Space } from '../../src/storage/engine.ts';
import { storeFile } from '../../src/storage/lmdb/open.ts';
import { verifyStore } from '../../src/storage/lmdb/verify.ts';
import { need } from '../support/conformance/needs.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';

/**
 * A process opens the store while another one writes: between reading the file's head and mapping the file it is held up,
 * so that many transactions pass meanwhile. None of them may be taken back (promise 8).
 */
need('strace');

const space: Space = 'table:kept';
const callers = 8;
const openings = 5;
const heldUpMs = 30;
const program = join(import.meta.dirname, '../support/storage/engine-child.ts');

test('loses nothing to a process that opens the store slowly while another one writes', async (t) => {
  const folder = newDataFolder(t);
  const writer = await EngineProcess.open(t, folder);
  const acknowledged: string[] = [];
  let goesOn = true;
  const load = Array.from({ length: callers }, async (_, caller) => {
    for (let n = 0; goesOn; n++) {
      const id = `${caller}-${n}`;
      await writer.commit([{ kind: 'create', space, id, value: id, makeSpace: true }]);
      assert.equal(await writer.get(space, id), id, 'what is acknowledged is read');
      acknowledged.push(id);
    }
  });
  const opened = (async () => {
    for (let n = 0; n < openings; n++) await openSlowly(t, folder);
    goesOn = false;
  })();
  await Promise.all([...load, opened]);
  // What it knows by itself must not help.
  await writer.kill();

  const after = await EngineProcess.open(t, folder);
  for (const id of acknowledged) assert.equal(await after.get(space, id), id);
  assert.deepEqual((await verifyStore(storeFile(folder))).problems, []);
  t.diagnostic(`${acknowledged.length} acknowledged beside ${openings} openings`);
});

async function openSlowly(t: TestContext, folder: string): Promise<void> {
  const inject = `inject=mmap:delay_enter=${heldUpMs}ms`;
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
    const heard = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => undefined)]);
    if (heard === undefined) return;
    yield heard;
  }
}

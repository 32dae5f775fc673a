import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SmallDisk } from '../support/conformance/mounted-disk.ts';
import { needRootAnd } from '../support/conformance/needs.ts';
import { PowerDisk } from '../support/conformance/power-disk.ts';
import { randomFrom, seedOf } from '../support/random.ts';
import { newData, type ServeOptions, ServeProcess } from '../support/serve-process.ts';
import { assertWhole } from '../support/storage/verify-command.ts';
import {
  type LoadResult,
  load,
  verifyTable,
  type WatchedTable,
  watchedTable,
} from '../support/tables/table-load.ts';

/**
 * After a failed flush the content of the disk is unknown: the kernel may have dropped the pages that it could not
 * write, and the next flush would succeed without them. So it is fatal (promise 12): the service logs it and ends with
 * an error, acknowledges nothing that was not flushed, and has all acknowledged writes at its next start.
 */
needRootAnd('strace', 'nbdkit', 'nbdfuse', 'fusermount3', 'mkfs.ext4', 'losetup');

const endMsMax = 10_000;
const callersPerTable = 8;
const itemsPerTable = 100;
const beforeErrorMs = 300;
const afterErrorMs = 700;
const nearlyFullMegabytes = 20;
const stillRunning = 'still running';

/** With O_DSYNC a write is a flush as well, so both kinds of calls are tested. */
const flushes = ['fsync', 'fdatasync', 'msync', 'sync_file_range'];
const writes = ['pwrite64', 'pwritev', 'pwritev2', 'writev'];

for (const when of [1, 2, 5]) {
  test(`ends when flush ${when} fails, and has every acknowledged write at its next start`, (t) =>
    endsAtError(t, { calls: flushes, when, error: 'EIO' }));
  test(`ends when write ${when} to the store fails, and has every acknowledged write at its next start`, (t) =>
    endsAtError(t, { calls: writes, when, error: 'EIO' }));
}

for (const [what, calls, when] of [
  ['flush 1', flushes, 1],
  ['write 1', writes, 1],
  ['write 2', writes, 2],
] as const) {
  test(`ends or accepts writes again after ${what} found no space, and has every acknowledged write`, (t) =>
    continuesAfter(t, { calls, when, error: 'ENOSPC' }));
}

test('ends when a flush fails on a nearly full disk', (t) => {
  const { folder } = SmallDisk.mount(t, nearlyFullMegabytes);
  return endsAtError(t, { calls: flushes, when: 1, error: 'EIO' }, join(folder, 'store'));
});

test('ends when its disk fails, and has every acknowledged write when the disk is restored', async (t) => {
  const disk = PowerDisk.plugIn(t);
  // Set, so that this test does not depend on the file of the master key (power-cut.conformance.ts does).
  const env = { COUNTERFOIL_MASTER_KEY: randomBytes(32).toString('base64') };
  await drill(t, {
    options: { data: join(disk.folder, 'store'), env },
    fail: async () => disk.fail(),
    repair: async () => {
      await disk.cut([]);
      await disk.restore();
    },
  });
});

type Injected = Omit<InjectedError, 'folder'>;

function endsAtError(t: TestContext, error: Injected, data = newData(t)): Promise<void> {
  const options = { data };
  return drill(t, {
    options,
    fail: ({ pid }) => injectErrors(t, pid, { ...error, folder: data }),
    repair: async () => undefined,
  });
}

/** After one ENOSPC error the service may continue: the next write may find space. */
async function continuesAfter(t: TestContext, error: Injected): Promise<void> {
  const random = randomFrom(seedOf(t));
  const tables = newTables();
  const options = { data: newData(t) };
  const service = await ServeProcess.start(t, options);
  const origin = await service.ready();
  const ended = service.ended();
  const anyWrites = { origin, tables, callers: callersPerTable, random };
  await load({ ...anyWrites, until: sleep(beforeErrorMs) });
  await injectErrors(t, service.pid, { ...error, folder: options.data });
  const result = await load({ ...anyWrites, until: Promise.race([ended, sleep(afterErrorMs)]) });
  t.diagnostic(summaryOf(result));
  assert.ok(result.lost + result.failed.size > 0, 'the error has affected a request');
  const code = await Promise.race([ended, sleep(0, stillRunning)]);
  if (code === stillRunning) {
    const after = await load({ ...anyWrites, until: sleep(beforeErrorMs) });
    assert.ok(after.acknowledged > 0 && after.failed.size === 0, `afterwards: ${summaryOf(after)}`);
    await service.kill();
  }
  assert.notEqual(code, 0);
  await assertStored(t, options, tables);
}

interface Drill {
  readonly options: ServeOptions;
  readonly fail: (service: ServeProcess) => Promise<void>;
  readonly repair: () => Promise<void>;
}

async function drill(t: TestContext, { options, fail, repair }: Drill): Promise<void> {
  const random = randomFrom(seedOf(t));
  const tables = newTables();
  const service = await ServeProcess.start(t, options);
  const ended = service.ended();
  const outOfTime = sleep(beforeErrorMs + endMsMax, stillRunning, { ref: false });
  const until = Promise.race([ended, outOfTime]);
  const origin = await service.ready();
  const loading = load({ origin, tables, callers: callersPerTable, random, until });
  await sleep(beforeErrorMs);
  await fail(service);
  const result = await loading;

  t.diagnostic(summaryOf(result));
  const code = await until;
  // Null means an end by a signal: after a failed write, LMDB's binding may abort during the exit.
  assert.ok(code !== 0 && code !== stillRunning, `the service ended with ${code}: ${service.errors}`);
  assert.match(service.errors, /Input\/output error|EIO/, 'the log contains the cause');
  assert.ok(result.lost + (result.failed.get(503) ?? 0) > 0, 'the error has affected a request');
  assert.deepEqual(
    [...result.failed.keys()].filter((status) => status !== 503),
    [],
  );

  await repair();
  await assertStored(t, options, tables);
}

function newTables(): readonly WatchedTable[] {
  return ['books', 'authors'].map((name) => watchedTable(name, itemsPerTable));
}

async function assertStored(
  t: TestContext,
  options: ServeOptions,
  tables: readonly WatchedTable[],
): Promise<void> {
  const again = await ServeProcess.start(t, options);
  for (const table of tables) await verifyTable(await again.ready(), table);
  assert.equal(await again.terminate(), 0, again.errors);
  await assertWhole(options.data);
}

function summaryOf({ acknowledged, lost, failed }: LoadResult): string {
  const statuses = [...failed].map(([status, times]) => `${times} × ${status}`).join(', ');
  return `${acknowledged} acknowledged, ${lost} lost, 5xx: ${statuses || 'none'}`;
}

interface InjectedError {
  /** The system calls that fail, on the files of the folder. */
  readonly calls: readonly string[];
  readonly error: 'EIO' | 'ENOSPC';
  /** The data folder. */
  readonly folder: string;
  /** The number of the call, in each thread, that fails; the others succeed. */
  readonly when: number;
}

/**
 * Makes system calls of a running process fail, by strace. Resolves when strace is attached; it detaches after the
 * test.
 */
async function injectErrors(
  t: TestContext,
  pid: number,
  { calls, error, folder, when }: InjectedError,
): Promise<void> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file) => [
    '-P',
    join(folder, file),
  ]);
  const what = ['-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}:when=${when}`];
  const strace = spawn('strace', ['-f', '-p', String(pid), ...paths, ...what, '-o', '/dev/null'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => endTracing(strace));
  for await (const line of createInterface({ input: strace.stderr })) {
    if (/attached/.test(line)) return;
  }
  throw new Error(`strace could not attach to ${pid}`);
}

/** SIGTERM makes strace detach from the process, unless that has ended. */
async function endTracing(strace: ChildProcess): Promise<void> {
  if (strace.exitCode !== null || strace.signalCode !== null) return;
  const ended = once(strace, 'exit');
  strace.kill('SIGTERM');
  await ended;
}

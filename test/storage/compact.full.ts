import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, Space, Write } from '../../src/storage/engine.ts';
import { commitWritesMax } from '../../src/storage/limits.ts';
import { compactFile, compactSteps } from '../../src/storage/lmdb/file/compact-file.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { runCommand } from '../support/command.ts';
import { count } from '../support/extent.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newData } from '../support/serve-process.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';

const space: Space = 'table:items';
const items = 4_000;
const remaining = 100;
const idOf = (n: number) => `item-${String(n).padStart(6, '0')}`;

async function commitAll(engine: Engine, writes: readonly Write[]): Promise<void> {
  for (let first = 0; first < writes.length; first += commitWritesMax)
    assert.equal(await engine.commit(writes.slice(first, first + commitWritesMax)), undefined);
}

/** A store from which most items were deleted. */
async function mostlyFree(t: TestContext): Promise<{ data: string; file: string }> {
  const data = newData(t);
  const engine = openLmdbEngine(data);
  const value = 'x'.repeat(1_000);
  const all = Array.from({ length: items }, (_, n) => idOf(n));
  await commitAll(
    engine,
    all.map((id) => ({ kind: 'create', space, id, value, makeSpace: true })),
  );
  await commitAll(
    engine,
    all.slice(remaining).map((id) => ({ kind: 'delete', space, id })),
  );
  await engine.close();
  return { data, file: storeFile(data) };
}

async function contentOf(data: string): Promise<{ version: string | undefined; text: string }> {
  const engine = openLmdbEngine(data);
  try {
    const scan = await engine.scan(space);
    return { version: scan?.version, text: (await Array.fromAsync(scan?.chunks ?? [])).join('') };
  } finally {
    await engine.close();
  }
}

const compact = (data: string, ...options: string[]) =>
  runCommand(['compact', '--json', ...options], { COUNTERFOIL_DATA: data });

test('gives the free space back, and changes nothing else, not even the ETags', async (t) => {
  const { data, file } = await mostlyFree(t);
  const before = await contentOf(data);
  const bytes = statSync(file).size;
  const { status, output, errors } = await compact(data);
  assert.equal(status, 0, errors);
  assert.deepEqual(JSON.parse(output), { bytes_before: bytes, bytes_after: statSync(file).size });
  assert.ok(statSync(file).size < bytes / 5, `${statSync(file).size} of ${bytes} bytes`);
  assert.deepEqual(await contentOf(data), before);
  assert.deepEqual((await verifyStore(file)).problems, []);
  assert.ok(!existsSync(join(data, 'compacting')));
});

test('fails while a process has the store open, and where there is none', async (t) => {
  const { data, file } = await mostlyFree(t);
  const { ino } = statSync(file);
  const engine = await EngineProcess.open(t, data);
  const refused = await compact(data);
  assert.equal(refused.status, 1);
  assert.match(JSON.parse(refused.errors).error.message, /process \d+ has .* open; stop the service first/);
  assert.equal(statSync(file).ino, ino);
  await engine.kill();
  assert.equal((await compact(data)).status, 0, 'a killed process does not count');
  assert.equal((await compact(newData(t))).status, 2);
});

test('sees a process that has opened the store twice, as the thread of the backups does', async (t) => {
  const { data, file } = await mostlyFree(t);
  const engine = openLmdbEngine(data);
  await openStore(file).close();
  const refused = await compact(data);
  assert.equal(refused.status, 1);
  assert.match(refused.errors, new RegExp(`process ${process.pid} has .* open`));
  assert.equal(await engine.commit([late]), undefined);
  await engine.close();
});

for (const step of compactSteps) {
  test(`killed after "${step}", it leaves a whole store, and the next run tidies`, async (t) => {
    const { data, file } = await mostlyFree(t);
    const before = await contentOf(data);
    const script = join(import.meta.dirname, '../support/storage/compact-until.ts');
    const { signal, stderr } = spawnSync(process.execPath, [script, file, step]);
    assert.equal(signal, 'SIGKILL', String(stderr));
    assert.deepEqual((await verifyStore(file)).problems, []);
    assert.deepEqual(await contentOf(data), before);
    assert.equal((await compact(data)).status, 0);
    assert.deepEqual(await contentOf(data), before);
    assert.deepEqual(
      readdirSync(data).filter((name) => !name.startsWith('store.mdb')),
      [],
    );
  });
}

const late: Write = { kind: 'create', space, id: 'late', value: '', makeSpace: true };

test('gives up when a process opens the store, or has written to it, while it runs', async (t) => {
  const { data, file } = await mostlyFree(t);
  const { ino } = statSync(file);
  let engine: EngineProcess | undefined;
  const open = async (step: string) => {
    if (step === 'verified') engine = await EngineProcess.open(t, data);
  };
  await assert.rejects(compactFile(file, undefined, open), /stop the service first/);
  assert.equal(await engine?.commit([late]), undefined, 'that process goes on');
  await engine?.kill();
  const write = async (step: string) => {
    if (step !== 'verified') return;
    const passing = await EngineProcess.open(t, data);
    assert.equal(await passing.commit([{ ...late, id: 'later' }]), undefined);
    await passing.request('close');
    await passing.kill();
  };
  await assert.rejects(compactFile(file, undefined, write), /was written to meanwhile/);
  assert.equal(statSync(file).ino, ino);
  const { text } = await contentOf(data);
  assert.ok(text.includes('"late"') && text.includes('"later"'));
});

test('loses no write of a process that starts while it runs', async (t) => {
  const random = randomFrom(seedOf(t));
  const { data } = await mostlyFree(t);
  const rounds = count({ short: 5, long: 200 });
  const statuses: (number | null)[] = [];
  for (let round = 0; round < rounds; round++) {
    const running = compact(data);
    await sleep(between(random, 0, 1_200));
    const engine = await EngineProcess.open(t, data);
    await engine.commit([{ ...late, id: `round-${round}` }]);
    const { status, errors } = await running;
    await engine.commit([{ ...late, id: `round-${round}-late` }]);
    await engine.kill();
    assert.ok(status === 0 || status === 1, errors);
    statuses.push(status);
  }
  t.diagnostic(`exit codes: ${statuses.join(' ')}`);
  const { text } = await contentOf(data);
  for (let round = 0; round < rounds; round++)
    assert.ok(text.includes(`"round-${round}"`) && text.includes(`"round-${round}-late"`), `round ${round}`);
});

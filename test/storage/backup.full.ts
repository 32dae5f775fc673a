import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { FolderTarget } from '../../src/backup/folder-target.ts';
import { BackupFailed } from '../../src/backup/target.ts';
import type { Space } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { backupsIn, ownerFile } from '../../src/storage/lmdb/backup/catalogue.ts';
import { type BackupStep, backupSteps, makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { newestFile } from '../../src/storage/lmdb/backup/notes.ts';
import { claimSteps } from '../../src/storage/lmdb/backup/owner.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { restoredItems } from '../support/backup/continuous-store.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { tryToSend } from '../support/try-to-send.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
const rounds = process.env.LONG === '1' ? 500 : 4;
const writers = 4;
const itemsPerWriter = 500;
const itemsStored = 2_000;
/** The steps after which the target differs from before. */
const changing: readonly BackupStep[] = [...claimSteps, 'data in place', 'listed', 'noted'];

test('a backup under write load verifies, and equals a state that existed', onLmdb, async (t) => {
  const { data, target } = prepare(t);
  const service = await ServeProcess.start(t, { data });
  const load = new Load(await service.ready());
  for (let round = 0; round < rounds; round++) {
    await load.grow(50);
    const before = [...load.acknowledged];
    const made = await backup(data, target, '--keep', '3');
    const after = [...load.sent];
    assert.equal(made.status, 0, made.errors);
    const manifest = JSON.parse(made.output);
    const opened = `${target}-opened`;
    rmSync(opened, { recursive: true, force: true });
    const copy = asStore(join(target, manifest.file), opened);
    const { items, problems } = await verifyStore(storeFile(copy));
    assert.deepEqual(problems, []);
    const { tables: _, ...counts } = manifest.counts as Record<string, number>;
    assert.equal(
      items,
      Object.values(counts).reduce((sum, each) => sum + each, 0),
    );
    for (let writer = 0; writer < writers; writer++) {
      const found = await numbersIn(copy, `table:w${writer}`);
      const written = (found.at(-1) ?? -1) + 1;
      // What was acknowledged before is in it, in an unbroken row, and nothing that was not sent.
      assert.equal(found.length, Math.min(written, itemsPerWriter));
      assert.ok(found.every((n, index) => n === written - found.length + index));
      assert.ok(written >= (before[writer] ?? 0), `writer ${writer} lacks acknowledged items`);
      assert.ok(written <= (after[writer] ?? 0));
    }
  }
  await load.stop();
  assert.equal((await listed(data, target)).length, 3);
  await service.kill();
});

test('backups into one target at the same time are all good, or say that they are not', onLmdb, async (t) => {
  const { data, target } = prepare(t);
  await fill(data);
  mkdirSync(target);
  const made = await Promise.all(Array.from({ length: 4 }, () => backup(data, target)));
  const good = made.filter(({ status }) => status === 0).map(({ output }) => JSON.parse(output).name);
  for (const { status, errors } of made.filter((each) => each.status !== 0)) {
    assert.equal(status, 1, errors);
    assert.match(errors, /another command has changed it meanwhile|cannot be read or written/);
  }
  assert.ok(good.length >= 1);
  const names = (await listed(data, target)).map(({ name }) => name);
  assert.deepEqual(names, [...good].sort(), 'what was reported as made is listed');
  for (const name of names) {
    const { problems } = await verifyStore(
      storeFile(asStore(join(target, `${name}.mdb`), `${target}-${name}`)),
    );
    assert.deepEqual(problems, []);
  }
});

for (const [what, change] of [
  ['its data is removed', (target: string, file: string) => rmSync(join(target, file))],
  ['its data is cut short', (target: string, file: string) => writeFileSync(join(target, file), 'x')],
] as const) {
  test(`a backup that another command changes before it is listed fails: ${what}`, onLmdb, async (t) => {
    const { data, target } = prepare(t);
    await fill(data);
    const passed = (step: BackupStep) => {
      if (step !== 'data in place') return;
      const file = readdirSync(target).find((name) => name.endsWith('.mdb')) ?? '';
      change(target, file);
    };
    await assert.rejects(makeBackup(storeFile(data), new FolderTarget(target), { passed }), (error) => {
      assert.ok(error instanceof BackupFailed);
      assert.match(error.message, /another command has changed it meanwhile; run this again/);
      return true;
    });
    assert.deepEqual(await listed(data, target), []);
  });
}

for (const step of backupSteps.filter((each) => !claimSteps.some((claim) => claim === each))) {
  test(
    `a backup that is killed after "${step}" leaves no backup or a whole one, and the next run tidies`,
    onLmdb,
    async (t) => {
      const { data, target: folder } = prepare(t);
      const target = new FolderTarget(folder);
      await fill(data);
      const first = await makeBackup(storeFile(data), target);
      const script = join(import.meta.dirname, '../support/storage/backup-until.ts');
      const { signal } = spawnSync(process.execPath, [script, storeFile(data), folder, step]);
      assert.equal(signal, 'SIGKILL');
      const names = (await backupsIn(target)).map(({ name }) => name);
      const isListed = ['listed', 'noted', 'done'].includes(step);
      if (step === 'done') assert.equal(names.length, 1, 'one is kept');
      else
        assert.deepEqual(
          [names.length, names[0]],
          [isListed ? 2 : 1, first.name],
          'the good one stays until then',
        );
      const { name, store_id } = await makeBackup(storeFile(data), target, { keep: 1 });
      const files = [`${name}.json`, `${name}.mdb`, ownerFile, newestFile(store_id ?? '')];
      assert.deepEqual(readdirSync(folder).sort(), files.sort());
    },
  );
}

test(
  'the first two backups are cut off, each after any step: a listed one is restored, and nothing else is missing',
  onLmdb,
  async (t) => {
    const { data } = prepare(t);
    await fill(data);
    for (const first of changing)
      for (const second of changing) {
        const target = new FolderTarget(`${newData(t)}-target`);
        const areListed = [await isListedUntil(first), await isListedUntil(second)];
        const restored = restoredItems(target, newData(t), { space: 'table:w0' });
        if (areListed.includes(true)) assert.equal((await restored).size, itemsStored, `${first}, ${second}`);
        else await assert.rejects(restored, /there is no (good )?backup/, `${first}, ${second}`);

        /** Makes a backup that is cut off after the step. A step of a claim is not passed again by a store that has made it. */
        async function isListedUntil(step: BackupStep): Promise<boolean> {
          const steps: BackupStep[] = [];
          const passed = (each: BackupStep) => {
            steps.push(each);
            if (each === step) throw new Error('cut off');
          };
          await makeBackup(storeFile(data), target, { passed }).catch((error) =>
            assert.match(`${error}`, /cut off/),
          );
          return steps.includes('listed');
        }
      }
  },
);

test('a target without room: a sentence, exit 1, and nothing is listed or left', onLmdb, async (t) => {
  const { data, target } = prepare(t);
  await fill(data);
  const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
  // The system limits the size of a file as a full disk would.
  const command = ['-c', 'ulimit -f 64; exec "$0" "$@"', process.execPath, program, 'backup', target];
  const { status, stderr } = spawnSync('/bin/sh', command, {
    env: { PATH: process.env.PATH ?? '', COUNTERFOIL_DATA: data },
    encoding: 'utf8',
  });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /^counterfoil: .*\n$/);
  assert.match(stderr, /file too large|disk is full/i);
  assert.deepEqual(readdirSync(target), [ownerFile]);
});

test('a manifest without its file, or with another size, is no backup', onLmdb, async (t) => {
  const { data, target } = prepare(t);
  await fill(data);
  const { file, sha256 } = JSON.parse((await backup(data, target)).output);
  assert.match(sha256, /^[\da-f]{64}$/);
  const bytes = readFileSync(join(target, file));
  writeFileSync(join(target, file), bytes.subarray(0, -1));
  assert.deepEqual(await listed(data, target), []);
  writeFileSync(join(target, file), bytes);
  assert.equal((await listed(data, target)).length, 1);
  renameSync(join(target, file), join(target, 'elsewhere'));
  assert.deepEqual(await listed(data, target), []);
});

test('a backup of a later version stays, and what a killed command has left goes', onLmdb, async (t) => {
  const { data, target } = prepare(t);
  const service = await ServeProcess.start(t, { data });
  await service.kill();
  mkdirSync(target);
  const [later, rest] = ['counterfoil-2026-01-01T00-00-00-000Z', 'counterfoil-2026-01-02T00-00-00-000Z'];
  writeFileSync(join(target, `${later}.mdb`), 'another format');
  writeFileSync(join(target, `${later}.json`), JSON.stringify({ manifest: 2, name: later }));
  writeFileSync(join(target, `${rest}.mdb`), 'half');
  assert.equal((await backup(data, target)).status, 0);
  const files = readdirSync(target);
  assert.ok(files.includes(`${later}.mdb`) && files.includes(`${later}.json`), files.join());
  assert.ok(!files.includes(`${rest}.mdb`), files.join());
});

test('a backup names the place of the master key, and does not hold it', onLmdb, async (t) => {
  const { data, target } = prepare(t);
  const service = await ServeProcess.start(t, { data });
  const made = await runCommand(['backup', target], { COUNTERFOIL_DATA: data });
  assert.ok(made.errors.includes(`${data}.key`), made.errors);
  const key = readFileSync(`${data}.key`, 'utf8').trim();
  for (const file of readdirSync(target)) assert.ok(!readFileSync(join(target, file)).includes(key));
  assert.equal(statSync(target).mode & 0o077, 0, 'only its owner reads it');
  await service.kill();
});

test('a target in the data folder, and one whose parent is missing, are rejected', onLmdb, async (t) => {
  const { data, target } = prepare(t);
  await fill(data);
  assert.equal((await backup(data, join(data, 'backups'))).status, 2);
  assert.equal((await backup(data, join(target, 'not', 'mounted'))).status, 1);
});

function prepare(t: TestContext) {
  const data = newData(t);
  return { data, target: `${data}-backups` };
}

async function fill(data: string): Promise<void> {
  const engine = openLmdbEngine(data);
  const create = (n: number) =>
    engine.commit([
      { kind: 'create', space: 'table:w0', id: `${n}`, value: 'x'.repeat(100), makeSpace: true },
    ]);
  await Promise.all(Array.from({ length: itemsStored }, (_, n) => create(n)));
  await engine.close();
}

function backup(data: string, target: string, ...options: string[]) {
  return runCommand(['backup', target, '--json', ...options], { COUNTERFOIL_DATA: data });
}

async function listed(data: string, target: string): Promise<{ readonly name: string }[]> {
  const { output, status } = await runCommand(['backup', target, '--list', '--json'], {
    COUNTERFOIL_DATA: data,
  });
  assert.equal(status, 0);
  return output
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/** A folder with the file of a backup as a store. */
function asStore(file: string, folder: string): string {
  mkdirSync(folder);
  writeFileSync(storeFile(folder), readFileSync(file));
  return folder;
}

async function numbersIn(folder: string, space: Space): Promise<number[]> {
  const engine = openLmdbEngine(folder);
  const numbers: number[] = [];
  for await (const { name } of itemsOf((await engine.scan(space))?.chunks ?? [])) numbers.push(Number(name));
  await engine.close();
  return numbers.sort((one, other) => one - other);
}

/** Writers that write the numbers 0, 1, 2 … in turns into the items of a table each, so that it has the last ones. */
class Load {
  readonly acknowledged: number[] = Array(writers).fill(0);
  readonly sent: number[] = Array(writers).fill(0);
  readonly #running: Promise<void>[];
  #isStopped = false;

  constructor(origin: string) {
    this.#running = Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; !this.#isStopped; n++) {
        this.sent[writer] = n + 1;
        const reply = await tryToSend(`${origin}/v3/table/w${writer}/put`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ id: `${n % itemsPerWriter}`, name: `${n}` }),
        });
        assert.equal(reply?.status, 200);
        this.acknowledged[writer] = n + 1;
      }
    });
  }

  /** Waits until each writer has made so many more items. */
  async grow(count: number): Promise<void> {
    const goals = this.acknowledged.map((each) => each + count);
    for (const giveUpAt = Date.now() + givenUpMs; ; await sleep(5)) {
      if (this.acknowledged.every((each, writer) => each >= (goals[writer] ?? 0))) return;
      assert.ok(Date.now() < giveUpAt, 'the writers stand still');
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }
}

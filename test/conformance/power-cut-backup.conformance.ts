import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Space } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { backupSteps } from '../../src/storage/lmdb/backup/make.ts';
import { claimSteps } from '../../src/storage/lmdb/backup/owner.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { Caller } from '../support/caller.ts';
import { runCommand, startCommand } from '../support/command.ts';
import { cutDuring, cutMoments, durationOf } from '../support/conformance/cut-moments.ts';
import { needRootAnd } from '../support/conformance/needs.ts';
import { PowerDisk } from '../support/conformance/power-disk.ts';
import { count } from '../support/extent.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { writeTable } from '../support/tables/table-operations.ts';

/** Power cuts of the disk with the backups: what was reported as saved is there, and what was not is never taken for it. */
needRootAnd('nbdkit', 'nbdfuse', 'fusermount3', 'mkfs.ext4', 'losetup');

const cuts = count({ short: 2, long: 100 });
const loadMsMax = 1_500;
/** So long the disk is away while the service goes on. */
const awayMs = 1_500;
/** 29 February: no backup but the first is due. */
const never = '0 0 29 2 *';
const program = join(import.meta.dirname, '../support/storage/backup-until.ts');

test('backup: after a cut each finished one is restored, and an unfinished one is none', async (t) => {
  const disk = PowerDisk.plugIn(t);
  const data = newData(t);
  const service = await ServeProcess.start(t, { data });
  const items = new AcknowledgedItems(await service.ready());
  const target = join(disk.folder, 'backups');
  const drill = new BackupDrill(t, data, target, items);
  const durationMs = await durationOf(() => startCommand(['backup', `${data}-trial`], drill.env).ended);
  const moments = [...cutMoments(randomFrom(seedOf(t)), cuts, durationMs), 'at its end'] as const;
  for (const moment of moments) {
    await items.grow(20);
    const before = items.upTo(Date.now());
    const { status, output, errors } = await cutDuring(disk, drill.start(), moment);
    await disk.restore();
    if (status === 0) drill.finished.set(JSON.parse(output).name, before);
    else assert.notEqual(moment, 'at its end', errors);
    await drill.check(`cut ${moment}`);
  }
  // The target has its owner since the first backup: the steps of a claim do not come again.
  for (const step of backupSteps.filter((each) => !claimSteps.some((claim) => claim === each))) {
    const { signal, stderr } = spawnSync(process.execPath, [program, storeFile(data), target, step]);
    assert.equal(signal, 'SIGKILL', String(stderr));
    await disk.cut([]);
    await disk.restore();
    // Then it is the one that is kept.
    if (step === 'done') drill.finished.clear();
    await drill.check(`cut after "${step}"`, step === 'done' ? 1 : 0);
  }
  await items.stop();
});

/** Backups of a service under load, on a disk whose power is cut. */
class BackupDrill {
  readonly env: Readonly<Record<string, string>>;
  /** The names of those that were reported as made, and what was acknowledged before. */
  readonly finished = new Map<string, readonly number[]>();
  readonly #t: TestContext;
  readonly #target: string;
  readonly #items: AcknowledgedItems;
  readonly #checked = new Set<string>();

  constructor(t: TestContext, data: string, target: string, items: AcknowledgedItems) {
    this.#t = t;
    this.env = { COUNTERFOIL_DATA: data };
    this.#target = target;
    this.#items = items;
  }

  start() {
    return startCommand(['backup', this.#target, '--json'], this.env);
  }

  /** @param more the number of finished backups that are listed beside those in `finished` */
  async check(when: string, more = 0): Promise<void> {
    const names = await this.#listed(when);
    for (const name of this.finished.keys()) assert.ok(names.includes(name), `${when}: ${name} is lost`);
    assert.ok(names.length >= this.finished.size + more, `${when}: the finished backup is lost`);
    for (const name of names) if (!this.#checked.has(name)) await this.#restore(name, when);
    const files = existsSync(this.#target) ? readdirSync(this.#target) : [];
    for (const name of new Set(files.map((file) => file.replace(/\.(mdb|json)$/, '')))) {
      if (names.includes(name)) continue;
      const { status, errors } = await this.#run(newData(this.#t), 'restore', `${this.#target}/${name}`);
      // 2 where nothing has the name; 1 for parts of a backup, which are named and not taken for one.
      assert.ok(status === 1 || status === 2, `${when}: ${status} ${errors}`);
      assert.match(errors, /there is no (good backup|backup|such folder)|its manifest is missing/, when);
    }
  }

  async #listed(when: string): Promise<readonly string[]> {
    const { status, output, errors } = await this.#run(
      newData(this.#t),
      'backup',
      this.#target,
      '--list',
      '--json',
    );
    if (status !== 0) assert.match(errors, /there is no such folder/, when);
    return output
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).name);
  }

  async #restore(name: string, when: string): Promise<void> {
    const restored = newData(this.#t);
    const { status, errors } = await this.#run(restored, 'restore', `${this.#target}/${name}`);
    assert.equal(status, 0, `${when}: ${errors}`);
    await assertHasItems(restored, this.finished.get(name) ?? this.#items.upTo(0), `${when}: ${name}`);
    this.#checked.add(name);
  }

  #run(data: string, ...args: string[]) {
    return runCommand(args, { COUNTERFOIL_DATA: data });
  }
}

test('continuous backup: after a cut every commit that was reported as sent is restored', async (t) => {
  const random = randomFrom(seedOf(t));
  const disk = PowerDisk.plugIn(t);
  const data = newData(t);
  const target = join(disk.folder, 'backups');
  const env = {
    COUNTERFOIL_BACKUP_TARGET: target,
    COUNTERFOIL_BACKUP_CONTINUOUS: '1',
    COUNTERFOIL_BACKUP_SCHEDULE: never,
  };
  const service = await ServeProcess.start(t, { data, env });
  const origin = await service.ready();
  const items = new AcknowledgedItems(origin);
  for (let cut = 0; cut < cuts; cut++) {
    await items.grow(20);
    await isSent(origin, Date.now());
    await isBacked(target);
    await sleep(between(random, 0, loadMsMax));
    const before = await sentUpTo(origin);
    await disk.cut([]);
    await sleep(awayMs);
    // What is reported while the disk is away counts too.
    const sent = Math.max(before, await sentUpTo(origin));
    await disk.restore();
    const restored = newData(t);
    const { status, errors } = await runCommand(['restore', target], { COUNTERFOIL_DATA: restored });
    assert.equal(status, 0, errors);
    await assertHasItems(restored, items.upTo(sent), `cut ${cut}`);
  }
  await items.stop();
  await service.kill();
});

/** A moment, in milliseconds since 1970: all that was acknowledged before is reported as sent. */
async function sentUpTo(origin: string): Promise<number> {
  const now = Date.now();
  const text = await (await fetch(`${origin}/metrics`)).text();
  const lag = /^counterfoil_backup_lag_seconds ([\d.]+)$/m.exec(text)?.[1];
  return lag === undefined ? 0 : now - Number(lag) * 1_000;
}

async function isSent(origin: string, moment: number): Promise<void> {
  for (const giveUpAt = Date.now() + givenUpMs; (await sentUpTo(origin)) < moment; await sleep(50))
    assert.ok(Date.now() < giveUpAt, 'nothing is sent any more');
}

async function isBacked(target: string): Promise<void> {
  const hasManifest = () => existsSync(target) && readdirSync(target).some((name) => name.endsWith('Z.json'));
  for (const giveUpAt = Date.now() + givenUpMs; !hasManifest(); await sleep(50))
    assert.ok(Date.now() < giveUpAt, 'no backup is made');
}

const writers = 4;
const name = 'x'.repeat(200);

/** Writers that create the items 0, 1, 2 … in a table each, and when each was acknowledged. */
class AcknowledgedItems {
  /** By writer and item, in milliseconds since 1970. */
  readonly #times: number[][] = Array.from({ length: writers }, () => []);
  readonly #running: Promise<void>[];
  #isStopped = false;

  constructor(origin: string) {
    this.#running = this.#times.map((times, writer) => this.#write(origin, times, `w${writer}`));
  }

  /** The number of items by writer that were acknowledged at or before a moment. */
  upTo(moment: number): readonly number[] {
    return this.#times.map((times) => times.filter((time) => time <= moment).length);
  }

  /** Waits until each writer has made so many more items. */
  async grow(more: number): Promise<void> {
    const goals = this.#times.map(({ length }) => length + more);
    for (const giveUpAt = Date.now() + givenUpMs; ; await sleep(5)) {
      if (this.#times.every(({ length }, writer) => length >= (goals[writer] ?? 0))) return;
      assert.ok(Date.now() < giveUpAt, 'the writers stand still');
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  async #write(origin: string, times: number[], table: string): Promise<void> {
    const caller = new Caller(origin);
    while (!this.#isStopped) {
      const response = await writeTable(caller, table, [{ kind: 'create', id: `${times.length}`, name }]);
      assert.ok(response.kind === 'responded' && response.status === 200, JSON.stringify(response));
      times.push(Date.now());
      // Many items make restores slow.
      await sleep(5);
    }
    caller.close();
  }
}

/** Throws unless a store has the items of each writer in an unbroken row, and so many of them at least. */
async function assertHasItems(data: string, least: readonly number[], what: string): Promise<void> {
  const engine = openLmdbEngine(data);
  try {
    for (const [writer, count] of least.entries()) {
      const space: Space = `table:w${writer}`;
      const numbers: number[] = [];
      for await (const { id } of itemsOf((await engine.scan(space))?.chunks ?? [])) numbers.push(Number(id));
      numbers.sort((one, other) => one - other);
      assert.deepEqual(numbers, [...numbers.keys()], `${what}: the items of writer ${writer} have gaps`);
      assert.ok(numbers.length >= count, `${what}: ${numbers.length} of ${count} items of writer ${writer}`);
    }
  } finally {
    await engine.close();
  }
}

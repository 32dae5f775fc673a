import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { archiveSteps, JournalArchiver } from '../../src/storage/lmdb/backup/journal-archiver.ts';
import { makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { noChecksum, readSegment, SegmentDraft } from '../../src/storage/lmdb/backup/segment.ts';
import { ContinuousStore, ModelWriter, restoredItems } from '../support/backup/continuous-store.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';

/** Continuous backup and restores to a moment, on a real store and a folder. */
const instants = process.env.LONG === '1' ? 200 : 20;
const writers = 4;

test('a restore to any moment has the state of that moment', async (t) => {
  const store = await opened(t);
  const began = Date.now();
  const running = Array.from({ length: writers }, (_, n) => new ModelWriter(store.engine, `w${n}`));
  const until = began + 4_000;
  let backups = 0;
  for (let round = 0; Date.now() < until || backups < 3; round++) {
    await store.archiver.round();
    if (round % 20 === 0) backups += Number((await makeBackup(store.file, store.target)) !== undefined);
    await sleep(20);
  }
  await Promise.all(running.map((writer) => writer.stop()));
  const ended = Date.now();
  await store.archiver.round();
  await store.close();
  const [first] = readdirSync(store.target.name)
    .filter((name) => name.endsWith('.json'))
    .sort();
  const manifest = JSON.parse(readFileSync(join(store.target.name, first ?? ''), 'utf8'));
  const random = randomFrom(seedOf(t));
  for (let round = 0; round < instants; round++) {
    const at = between(random, Date.parse(manifest.last_commit_at ?? manifest.time), ended);
    for (const writer of [running[round % writers] as ModelWriter]) {
      const found = await restoredItems(store.target, newDataFolder(t), { at, space: writer.space });
      const n = Number(found.get('last') ?? 0);
      const acknowledged = writer.steps.filter(({ acknowledgedAt }) => acknowledgedAt <= at).length;
      const sent = writer.steps.filter(({ sentAt }) => sentAt <= at).length;
      assert.ok(n >= acknowledged, `at ${at}: ${n} commits of ${acknowledged} that were acknowledged`);
      assert.ok(n <= sent, `at ${at}: ${n} commits of ${sent} that were sent`);
      assert.deepEqual(found, ModelWriter.stateAfter(n));
    }
  }
  const newest = running[0] as ModelWriter;
  const found = await restoredItems(store.target, newDataFolder(t), { space: newest.space });
  assert.deepEqual(found, ModelWriter.stateAfter(newest.steps.length), 'without a moment: everything');
});

test('compaction removes nothing from the journal that was not sent, also after a restart', async (t) => {
  const data = newDataFolder(t);
  let store = await ContinuousStore.open(data);
  await store.archiver.round();
  await makeBackup(store.file, store.target);
  for (let n = 0; n < 3; n++) {
    await store.create(`before-${n}`);
    await store.compacted();
  }
  await store.close();
  store = await ContinuousStore.open(data);
  t.after(() => store.close());
  await store.create('after');
  await store.compacted();
  const { begun, commits } = await store.archiver.round();
  assert.equal(begun, undefined, 'the chain goes on');
  assert.ok(commits >= 4);
  const found = await restoredItems(store.target, newDataFolder(t));
  assert.deepEqual([...found.keys()], ['after', 'before-0', 'before-1', 'before-2']);
});

test('a target that is away for too long does not fill the disk: the gap is reported, and a new chain begins', async (t) => {
  const journalBytesMax = 256 * 1024;
  const store = await opened(t, { journalBytesMax });
  await store.archiver.round();
  await makeBackup(store.file, store.target);
  await store.create('sent');
  await store.archiver.round();
  const lastSent = Date.now();
  await sleep(5);
  for (let n = 0; n < 40; n++) await store.create(`${n}`.padStart(4, '0').repeat(250));
  await store.compacted();
  const sizeBefore = statSync(store.file).size;
  for (let n = 40; n < 400; n++) await store.create(`${n}`.padStart(4, '0').repeat(250));
  await store.compacted();
  const { begun } = await store.archiver.round();
  assert.match(begun ?? '', /commits from \d+ on are no longer in the journal/);
  assert.ok(statSync(store.file).size < sizeBefore + 40 * 1024 * 1024);
  await makeBackup(store.file, store.target);
  await store.create('after');
  await store.archiver.round();
  const newest = await restoredItems(store.target, newDataFolder(t));
  assert.equal(newest.size, 402);
  const before = await restoredItems(store.target, newDataFolder(t), { at: lastSent }).catch(String);
  assert.match(String(before), /commits \d+ to \d+ are in no segment/);
});

for (const [what, damage, message] of [
  ['torn', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2), /is torn or was altered/],
  ['altered', (bytes: Buffer) => altered(bytes), /is torn or was altered|has another checksum/],
  ['replaced by another', (_: Buffer, other: Buffer) => other, /has other commits than its name says/],
  ['made anew with other content', forged, /does not continue what is before it/],
  ['missing', () => undefined, /commits \d+ to \d+ are in no segment/],
] as const) {
  test(`a segment that is ${what} is named, and what is before it can be restored`, async (t) => {
    const store = await opened(t);
    await store.archiver.round();
    await makeBackup(store.file, store.target);
    for (let n = 0; n < 4; n++) {
      await store.create(`${n}`);
      await store.compacted();
      await store.archiver.round();
    }
    const files = readdirSync(store.target.name).filter((name) => name.startsWith('journal-'));
    assert.ok(files.length >= 4, files.join());
    const [hit, other] = [files[2], files[1]].map((name) => join(store.target.name, name ?? '')) as [
      string,
      string,
    ];
    const damaged = await damage(readFileSync(hit), readFileSync(other));
    if (damaged === undefined) rmSync(hit);
    else writeFileSync(hit, damaged);
    const failure = await restoredItems(store.target, newDataFolder(t)).then(() => 'restored', String);
    assert.match(failure, message);
    assert.match(failure, /--accept-missing/);
    const before = await restoredItems(store.target, newDataFolder(t), { acceptsMissing: true });
    // A segment that has the number of another is missed only behind it.
    assert.deepEqual([...before.keys()].sort(), ['0', '1'].slice(0, before.size));
    assert.ok(before.size >= 1);
  });
}

for (const step of archiveSteps) {
  test(`a process that is killed after "${step}" loses nothing: the next one goes on`, async (t) => {
    const data = newDataFolder(t);
    let store = await ContinuousStore.open(data);
    await store.archiver.round();
    await makeBackup(store.file, store.target);
    await store.close();
    const script = join(import.meta.dirname, '../support/storage/archive-until.ts');
    const { signal, stderr } = spawnSync(process.execPath, [script, data, store.target.name, step]);
    assert.equal(signal, 'SIGKILL', String(stderr));
    store = await ContinuousStore.open(data);
    t.after(() => store.close());
    assert.equal(store.archiver.lease.take(), true, 'the dead process holds the lease no more');
    await store.create('after');
    assert.equal((await store.archiver.round()).begun, undefined, 'the chain goes on');
    const found = await restoredItems(store.target, newDataFolder(t));
    assert.deepEqual([...found.keys()], ['after', ...Array.from({ length: 5 }, (_, n) => `killed-${n}`)]);
  });
}

test('a round ends although commits go on', async (t) => {
  const store = await ContinuousStore.open(newDataFolder(t));
  await store.archiver.round();
  await store.create('first');
  let segments = 0;
  const put = store.target.put.bind(store.target);
  store.target.put = async (name, bytes) => {
    // A round may write a heartbeat, too.
    if (name.startsWith('journal-')) {
      assert.ok(++segments < 10, 'the round goes on and on');
      await store.create(`while segment ${segments} is sent`);
    }
    return put(name, bytes);
  };
  t.after(() => store.close());
  for (const round of [1, 2]) {
    // Compaction of the idle store makes a commit of its own.
    assert.ok((await store.archiver.round()).commits >= 1);
    assert.equal(segments, round, 'the commit that is made meanwhile is for the next round');
  }
});

test('every byte of a segment counts: altered, it is found', async (t) => {
  const store = await opened(t);
  await store.archiver.round();
  await store.create('x');
  await store.archiver.round();
  const name = readdirSync(store.target.name).find((each) => each.startsWith('journal-')) ?? '';
  const bytes = readFileSync(join(store.target.name, name));
  const whole = await readSegment(bytes);
  for (let at = 0; at < bytes.length; at++) {
    const copy = Buffer.from(bytes);
    copy.writeUInt8((copy[at] as number) ^ (1 << (at % 8)), at);
    const found = await readSegment(copy).catch(() => undefined);
    // A flag of the compression that changes nothing of the content is no damage.
    if (found !== undefined) assert.deepEqual(found, whole, `byte ${at}`);
  }
});

test('of two processes one makes the backups; when it is silent, the other goes on where it was', async (t) => {
  const store = await opened(t);
  await store.archiver.round();
  await makeBackup(store.file, store.target);
  const other = new JournalArchiver(store.file, store.target, { leaseSilenceMsMax: 300 });
  t.after(() => other.close());
  assert.equal(other.lease.take(), false);
  await store.create('one');
  await store.archiver.round();
  await store.create('two');
  await sleep(400);
  assert.equal(other.lease.take(), true, 'after the silence');
  await other.round();
  // The first one was only paused: it notices.
  await store.create('three');
  assert.equal(store.archiver.lease.take(), false);
  await other.round();
  const found = await restoredItems(store.target, newDataFolder(t));
  assert.deepEqual([...found.keys()].sort(), ['one', 'three', 'two']);
});

async function opened(t: TestContext, options = {}): Promise<ContinuousStore> {
  const store = await ContinuousStore.open(newDataFolder(t), options);
  t.after(() => store.close().catch(() => undefined));
  return store;
}

/** A segment of the same commits that is whole in itself. */
async function forged(bytes: Buffer): Promise<Buffer> {
  const { head, commits } = await readSegment(bytes);
  const draft = new SegmentDraft(noChecksum);
  for (const [commit, at] of commits) draft.add({ commit, at, spaces: '[]' });
  return (await draft.finish(head.chain, head.store_id)).bytes;
}

function altered(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const at = Math.floor(copy.length / 2);
  copy.writeUInt8((copy[at] as number) ^ 0x10, at);
  return copy;
}

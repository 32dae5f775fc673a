import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { BackupFailed } from '../../src/backup/target.ts';
import { backupsIn, describeBackups } from '../../src/storage/lmdb/backup/catalogue.ts';
import { makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { nextTimeline } from '../../src/storage/lmdb/backup/manifest.ts';
import { readSegment, SegmentDraft } from '../../src/storage/lmdb/backup/segment.ts';
import { ContinuousStore, restoredItems } from '../support/backup/continuous-store.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';

/** The order of backups is that of their commits, whatever the clocks said. */

const hourMs = 3_600_000;
const rounds = process.env.LONG === '1' ? 60 : 4;

test('a backup from a clock that was ahead is neither restored for a newer one nor kept for ever', async (t) => {
  const store = await opened(t);
  await store.create('first');
  const ahead = await withClock(t, 30 * 24 * hourMs, () => makeBackup(store.file, store.target));
  await store.create('second');
  const second = await makeBackup(store.file, store.target);
  assert.deepEqual(await namesIn(store), [ahead.name, second.name], 'listed by commits');
  const { newest } = await describeBackups(store.target, 1, new Map());
  assert.equal(newest[0]?.name, second.name);
  assert.deepEqual(await restored(t, store), ['first', 'second']);
  await store.create('third');
  const third = await makeBackup(store.file, store.target, { keep: 2 });
  assert.deepEqual(third.deleted, [ahead.name]);
  assert.deepEqual(await namesIn(store), [second.name, third.name]);
  assert.deepEqual(await restored(t, store), ['first', 'second', 'third']);
});

test('a backup from a clock that is behind is the newest, and retention keeps it', async (t) => {
  const store = await opened(t);
  await store.create('first');
  const first = await makeBackup(store.file, store.target);
  await store.create('second');
  const behind = await withClock(t, -400 * 24 * hourMs, () =>
    makeBackup(store.file, store.target, { keep: 1 }),
  );
  assert.deepEqual(behind.deleted, [first.name]);
  assert.deepEqual(await restored(t, store), ['first', 'second']);
});

test('of random clocks, retention and segments: a restore has everything that was sent', async (t) => {
  const random = randomFrom(seedOf(t));
  for (let round = 0; round < rounds; round++) {
    const store = await opened(t);
    const isContinuous = random() < 0.5;
    const keep = between(random, 1, 3);
    const created: string[] = [];
    const names: string[] = [];
    for (let step = 0; step < 6; step++) {
      if (isContinuous) await store.archiver.round();
      const ids = Array.from({ length: between(random, 0, 3) }, (_, n) => `${step}-${n}`);
      for (const id of ids) await store.create(id);
      created.push(...ids);
      const offset = between(random, -1_000, 1_000) * hourMs;
      names.push((await withClock(t, offset, () => makeBackup(store.file, store.target, { keep }))).name);
      const places = (await backupsIn(store.target)).map(({ position }) => position);
      assert.deepEqual(
        places,
        places.toSorted((one, other) => one - other),
      );
      assert.ok(places.length <= keep);
    }
    await store.create('sent at the end');
    if (isContinuous) await store.archiver.round();
    const all = isContinuous ? [...created, 'sent at the end'] : created;
    assert.deepEqual(await restored(t, store), all.sort(), `round ${round}`);
    await store.close();
  }
});

test('a store that was set back with its machine: what it makes afterwards is the newest', async (t) => {
  const data = newDataFolder(t);
  let store = await ContinuousStore.open(data);
  await store.create('before');
  await store.close();
  const earlier = readFileSync(store.file);
  store = await ContinuousStore.open(data);
  for (const id of ['lost-1', 'lost-2', 'lost-3']) await store.create(id);
  await makeBackup(store.file, store.target);
  await store.close();
  writeFileSync(store.file, earlier);
  rmSync(`${store.file}-probe`);
  store = await ContinuousStore.open(data);
  t.after(() => store.close());
  await store.create('now');
  const made = await makeBackup(store.file, store.target);
  assert.equal(made.timeline, 1);
  assert.deepEqual(await restored(t, store), ['before', 'now']);
  await makeBackup(store.file, store.target, { keep: 1 });
  assert.deepEqual(await restored(t, store), ['before', 'now'], 'retention deletes the other past first');
});

test('a timeline begins where the target has a commit that the store lacks', () => {
  const at = (position: number, last_commit_at: string, timeline = 0) =>
    ({ position, last_commit_at, timeline }) as Parameters<typeof nextTimeline>[0][number];
  assert.equal(nextTimeline([], at(5, 'a')), 0);
  assert.equal(nextTimeline([at(5, 'a', 2)], at(5, 'a')), 2);
  assert.equal(nextTimeline([at(5, 'a', 2)], at(6, 'b')), 2);
  assert.equal(nextTimeline([at(5, 'a', 2)], at(5, 'b')), 3);
  assert.equal(nextTimeline([at(5, 'a', 2)], at(4, 'a')), 3);
});

test('--at with a clock that was set back between is rejected, and --position goes on', async (t) => {
  const store = await opened(t);
  await store.archiver.round();
  const { position } = await makeBackup(store.file, store.target);
  for (const id of ['1', '2', '3', '4']) await store.create(id);
  await store.archiver.round();
  const now = Date.now();
  // The second commit is from a clock that was half an hour ahead.
  await retime(store, [now - 3_000, now + 1_800_000 - hourMs, now - 2_500 - hourMs, now - 1_000]);
  const restoreAt = (wanted: object) => restored(t, store, wanted);
  await assert.rejects(restoreAt({ at: now - 2_000 - hourMs }), /the oldest backup/);
  await retime(store, [now + 1, now + 3_000, now + 2, now + 4_000]);
  await assert.rejects(restoreAt({ at: now + 2_000 }), (error) => {
    assert.ok(error instanceof BackupFailed && error.code === 'times_ambiguous', String(error));
    assert.match(error.message, /--position/);
    return true;
  });
  assert.deepEqual(await restoreAt({ position: position + 3 }), ['1', '2', '3']);
  assert.deepEqual(await restoreAt({ at: now + 3_500 }), ['1', '2', '3']);
  // A time that is still to come was a wrong clock's: the commits around it say where it belongs.
  await retime(store, [now + 1, now + 24 * hourMs, now + 2, now + 4_000]);
  assert.deepEqual(await restoreAt({ at: now + 2_000 }), ['1', '2', '3']);
  await assert.rejects(restoreAt({ position: position + 9 }), /ends at commit \d+, before commit \d+/);
});

/** Gives the commits of the only segment other times. */
async function retime({ target }: ContinuousStore, times: readonly number[]): Promise<void> {
  const name = readdirSync(target.name).find((each) => each.startsWith('journal-')) ?? '';
  const { head, commits } = await readSegment(readFileSync(join(target.name, name)));
  const draft = new SegmentDraft(head.before);
  for (const [index, [commit, , spaces]] of commits.entries())
    draft.add({ commit, at: times[index] as number, spaces: JSON.stringify(spaces) });
  writeFileSync(join(target.name, name), (await draft.finish(head.chain, head.store_id)).bytes);
}

async function opened(t: TestContext): Promise<ContinuousStore> {
  const store = await ContinuousStore.open(newDataFolder(t));
  t.after(() => store.close().catch(() => undefined));
  return store;
}

/** Does work while the clock of this thread is off. */
async function withClock<Result>(
  t: TestContext,
  offsetMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const { now } = Date;
  const mocked = t.mock.method(Date, 'now', () => now() + offsetMs);
  return work().finally(() => mocked.mock.restore());
}

async function namesIn({ target }: ContinuousStore): Promise<string[]> {
  return (await backupsIn(target)).map(({ name }) => name);
}

async function restored(t: TestContext, { target }: ContinuousStore, wanted: object = {}): Promise<string[]> {
  return [...(await restoredItems(target, newDataFolder(t), wanted)).keys()].sort();
}

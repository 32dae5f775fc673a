import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import { copyStore } from '../../src/storage/copying/copy.ts';
import { copyItemsMax } from '../../src/storage/copying/entries.ts';
import { checkIsWhole } from '../../src/storage/copying/marker.ts';
import { CommitUnknown, type Write } from '../../src/storage/engine.ts';
import { itemBytesMax } from '../../src/tables/table-item.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import {
  type Content,
  committing,
  contentOf,
  fill,
  items,
  Killed,
  MortalEngine,
  newStore,
} from '../support/storage/copied-stores.ts';
import { idMaker } from '../support/storage/hard-ids.ts';

const directions = [
  ['LMDB', 'LMDB'],
  ['LMDB', 'DynamoDB'],
  ['DynamoDB', 'LMDB'],
] as const;

for (const [from, to] of directions) {
  test(`from ${from} to ${to}: copies every item unchanged, with any id`, async (t) => {
    const random = randomFrom(seedOf(t));
    const [source, target] = [await newStore(t, from), await newStore(t, to)];
    const makeId = idMaker(random);
    const hard = Object.fromEntries(Array.from({ length: 30 }, () => [makeId(), makeId()]));
    const content: Content = {
      'table:hard': hard,
      'table:empty-names': { a: '', b: '' },
      'table:large': { large: '\u0001"é'.repeat(itemBytesMax / 4 - 2), small: 'x' },
      'service:payments': items(20, 'payment'),
      'service:integrations': { 'google/web': '{}' },
      'service:sealing': { 'current-key': 'abc' },
    };
    await fill(source, content);
    const before = await contentOf(source);
    const copied = await copyStore({ source, target });
    assert.deepEqual(copied.differences, []);
    assert.equal(copied.spaces, 6);
    assert.deepEqual([...copied.tables].sort(), ['empty-names', 'hard', 'large']);
    assert.deepEqual(await contentOf(target), before);
    assert.deepEqual(await contentOf(source), before);
    assert.equal(copied.items, Object.values(before).flatMap(Object.keys).length);
  });
}

for (const count of [0, 1, 99, 100, 101, 250]) {
  test(`copies ${count} items with the fewest possible commits, each with its marker`, async (t) => {
    const [source, target] = [await newStore(t, 'LMDB'), await newStore(t, 'LMDB')];
    await fill(source, { 'table:books': items(count) });
    const sizes: number[] = [];
    const watched = committing(target.engine, (writes) => {
      sizes.push(writes.length);
      return target.engine.commit(writes);
    });
    assert.equal((await copyStore({ source, target: { ...target, engine: watched } })).items, count);
    const batches = Math.ceil(count / copyItemsMax);
    // One commit checks that the table is possible, one begins the copy, and the last one removes the marker.
    assert.equal(sizes.length, batches + (count === 0 ? 2 : 3));
    assert.deepEqual(await contentOf(target), await contentOf(source));
  });
}

test('continues after a kill at any commit, and writes nothing twice', async (t) => {
  const random = randomFrom(seedOf(t));
  const source = await newStore(t, 'LMDB');
  // Each of these items is so large that it fills a commit.
  const large = 'x'.repeat(300_000);
  await fill(source, {
    'table:a': items(6, large),
    'service:payments': items(5, large),
    'table:z': items(1),
  });
  const before = await contentOf(source);
  for (let commits = 1; ; commits++) {
    const target = await newStore(t, 'LMDB');
    const first = new MortalEngine(target.engine, commits, random);
    const copying = copyStore({ source, target: { name: target.name, engine: first.engine } });
    if (!first.isDead && (await outcomeOf(copying)) === 'copied') {
      assert.ok(commits > 12, 'there were too few commits to interrupt');
      break;
    }
    const isDone = (await target.engine.get('service:copying', 'copy')) === undefined;
    if (!isDone) {
      await assert.rejects(checkIsWhole(target.engine), /unfinished copy from lmdb:/);
      const then = new MortalEngine(target.engine, Number.POSITIVE_INFINITY, random, first.written);
      const copied = await copyStore({ source, target: { name: target.name, engine: then.engine } });
      assert.deepEqual(copied.differences, []);
    }
    assert.deepEqual(await contentOf(target), before, `after ${commits} commits`);
    assert.deepEqual(twice(first.written), []);
  }
});

for (const [from, to] of directions.slice(1)) {
  test(`from ${from} to ${to}: completes despite repeated kills, and writes nothing twice`, async (t) => {
    const random = randomFrom(seedOf(t));
    const [source, target] = [await newStore(t, from), await newStore(t, to)];
    // Several items per commit, and few enough for dynalite to write quickly.
    const large = 'x'.repeat(120_000);
    await fill(source, { 'table:books': items(20, large), 'service:charges': items(9, large) });
    const written: Write[] = [];
    for (let lives = 1; ; lives++) {
      const mortal = new MortalEngine(target.engine, between(random, 1, 4), random, written);
      const outcome = await outcomeOf(copyStore({ source, target: { ...target, engine: mortal.engine } }));
      if (outcome === 'copied' || (await target.engine.get('service:copying', 'copy')) === undefined) break;
      assert.ok(lives < 20, 'the copy makes no progress');
    }
    assert.deepEqual(await contentOf(target), await contentOf(source));
    assert.deepEqual(twice(written), []);
  });
}

test('retries a commit that is rejected as overloaded', async (t) => {
  const [source, target] = [await newStore(t, 'LMDB'), await newStore(t, 'LMDB')];
  await fill(source, { 'table:books': items(150) });
  let overloaded = 0;
  const busy = committing(target.engine, async (writes) => {
    if (writes.length > 40 && overloaded++ === 0) throw new ServiceError('overloaded');
    return target.engine.commit(writes);
  });
  assert.deepEqual((await copyStore({ source, target: { ...target, engine: busy } })).differences, []);
  const failing = committing(target.engine, async () => {
    throw new ServiceError('storage_full');
  });
  const full = { source, target: { name: 'full', engine: failing }, isIntoExisting: true };
  await assert.rejects(copyStore(full), { code: 'storage_full' });
});

test('looks for a commit whose reply was lost, and does not repeat it', async (t) => {
  const [source, target] = [await newStore(t, 'LMDB'), await newStore(t, 'LMDB')];
  await fill(source, { 'table:books': items(250) });
  const written: Write[] = [];
  const forgetful = committing(target.engine, async (writes) => {
    const rejection = await target.engine.commit(writes);
    if (rejection === undefined) written.push(...writes);
    if (rejection === undefined && writes.length > 90) throw new CommitUnknown('lost');
    return rejection;
  });
  assert.deepEqual((await copyStore({ source, target: { ...target, engine: forgetful } })).differences, []);
  assert.deepEqual(await contentOf(target), await contentOf(source));
  assert.deepEqual(twice(written), []);
});

async function outcomeOf(copying: Promise<unknown>): Promise<'copied' | 'killed'> {
  try {
    await copying;
    return 'copied';
  } catch (error) {
    assert.ok(error instanceof Killed, String(error));
    return 'killed';
  }
}

/** Returns the items that were created more than once. */
function twice(written: readonly Write[]): string[] {
  const seen = new Set<string>();
  return written
    .filter(({ kind, space }) => kind === 'create' && space !== 'service:copying')
    .map(({ space, id }) => `${space} ${id}`)
    .filter((name) => seen.size === seen.add(name).size);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommitUnknown, type Engine, type Space, type Write } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import {
  conflicting,
  cutReply,
  dropReply,
  dropRequest,
  type FaultProxy,
  failedAfter,
  failedBefore,
  inProgress,
  throttled,
} from '../support/dynamodb/fault-proxy.ts';
import { type FaultyStore, faultyStore } from '../support/dynamodb/faulty-store.ts';
import { count as extent } from '../support/extent.ts';
import { between, pick, type Random, randomFrom, seedOf } from '../support/random.ts';

/** Lost replies while somebody else writes too: each effect once, and nobody told what is not so. */
const space: Space = 'table:books';
const create = (id: string, value: string): Write => ({ kind: 'create', space, id, value, makeSpace: false });
const replace = (id: string, value: string, ifValue?: string): Write => ({
  kind: 'replace',
  space,
  id,
  value,
  ...(ifValue === undefined ? {} : { ifValue }),
});
const remove = (id: string): Write => ({ kind: 'delete', space, id });

test('a create whose reply was lost is no create of something that exists, be it updated meanwhile', async (t) => {
  const store = await faultyStore(t, ['books']);
  loseFirstReply(store, 'PutItem', () => store.direct.commit([replace('a', 'updated')]));
  assert.equal(await store.patient.commit([create('a', 'first')]), undefined);
  assert.equal(await store.direct.get(space, 'a'), 'updated');
});

test('a create of what existed before is rejected, also when the first refusal was lost', async (t) => {
  const store = await faultyStore(t, ['books']);
  for (const [id, made] of [
    ['alone', [create('alone', 'before')]],
    ['in a batch', [create('in a batch', 'before'), create('beside', 'before')]],
  ] as const) {
    await store.direct.commit(made);
    loseFirstReply(store, 'PutItem');
    assert.deepEqual(await store.patient.commit([create(id, 'again')]), { write: 0, reason: 'exists' });
    assert.ok(store.proxy.count('PutItem') > 1);
    assert.equal(await store.direct.get(space, id), 'before');
  }
});

test('a create of the same value by another one is rejected', async (t) => {
  const store = await faultyStore(t, ['books']);
  store.proxy.script = async ({ operation }, count) => {
    if (operation !== 'PutItem' || count > 1) return undefined;
    await store.direct.commit([create('a', 'same')]);
    return dropReply;
  };
  assert.deepEqual(await store.patient.commit([create('a', 'same')]), { write: 0, reason: 'exists' });
});

for (const [verb, commit, meanwhile, left] of [
  ['an update', [replace('a', 'ours')], [replace('a', 'theirs')], 'theirs'],
  ['an update of what was read', [replace('a', 'ours', 'old')], [replace('a', 'old')], 'old'],
  ['a delete', [remove('a')], [create('a', 'theirs')], 'theirs'],
  ['a batch', [replace('a', 'ours'), create('b', 'ours')], [replace('a', 'theirs'), remove('b')], 'theirs'],
] as const) {
  test(`${verb} whose reply was lost is not made again after what another one wrote`, async (t) => {
    const store = await faultyStore(t, ['books']);
    await store.direct.commit([create('a', 'old')]);
    loseFirstReply(store, 'TransactWriteItems', () => store.direct.commit(meanwhile));
    assert.equal(await store.patient.commit(commit), undefined);
    assert.equal(store.proxy.count('TransactWriteItems'), 2);
    assert.equal(await store.direct.get(space, 'a'), left);
    assert.equal(await store.direct.get(space, 'b'), undefined);
  });
}

const writers = extent({ short: 6, long: 32 });
const incrementsEach = extent({ short: 4, long: 100 });

test('increments of one counter by many writers count once each, whatever is lost on the way', async (t) => {
  const random = randomFrom(seedOf(t));
  const store = await faultyStore(t, ['books']);
  await store.direct.commit([create('first', '0'), create('last', '0')]);
  store.proxy.script = ({ operation }) =>
    operation === 'TransactWriteItems' || operation === 'GetItem' ? faultAt(random) : undefined;

  const told: MetricsSnapshot = { done: [], unknown: [] };
  let isOver = false;
  const watching = watchPair(store.direct, () => isOver);
  const counting = Array.from({ length: writers }, (_, writer) => count(store, random, writer, told));
  await Promise.all(counting).finally(() => {
    isOver = true;
  });
  assert.ok((await watching) > 0);

  store.proxy.script = () => undefined;
  const made = new Set((await ids(store.direct)).filter((id) => id.startsWith('by ')));
  const missing = told.done.filter((id) => !made.has(id));
  assert.deepEqual(missing, [], 'was told as made');
  assert.equal(told.done.length, writers * incrementsEach);
  const unforeseen = [...made].filter((id) => !told.done.includes(id) && !told.unknown.includes(id));
  assert.deepEqual(unforeseen, [], 'was told as rejected');
  assert.equal(Number(await store.direct.get(space, 'first')), made.size);
  assert.equal(Number(await store.direct.get(space, 'last')), made.size);
  t.diagnostic(`${told.done.length} made, ${told.unknown.length} unknown, ${store.proxy.count()} requests`);
});

interface MetricsSnapshot {
  readonly done: string[];
  readonly unknown: string[];
}

/** Each increment makes an item too, in the same commit: so it can be told afterwards which there were. */
async function count(
  store: FaultyStore,
  random: Random,
  writer: number,
  told: MetricsSnapshot,
): Promise<void> {
  for (let n = 0, tries = 0; n < incrementsEach; tries++) {
    const engine = random() < 0.3 ? store.hasty : store.patient;
    const id = `by ${writer}: ${n}, try ${tries}`;
    try {
      const before = await store.direct.get(space, 'first');
      const after = String(Number(before) + 1);
      const rejected = await engine.commit([
        replace('first', after, before),
        create(id, after),
        replace('last', after, before),
      ]);
      if (rejected !== undefined) {
        assert.deepEqual(rejected, { write: 0, reason: 'differs' });
        continue;
      }
      told.done.push(id);
      n++;
    } catch (error) {
      if (error instanceof CommitUnknown) told.unknown.push(id);
      else assert.equal((error as { code?: string }).code, 'overloaded', String(error));
    }
  }
}

/** Two items that each commit changes alike: what was read second cannot be behind what was read first. */
async function watchPair(engine: Engine, isOver: () => boolean): Promise<number> {
  let looks = 0;
  for (; !isOver(); looks++) {
    const [one, other] = looks % 2 === 0 ? ['first', 'last'] : ['last', 'first'];
    const earlier = Number(await engine.get(space, one as string));
    const later = Number(await engine.get(space, other as string));
    assert.ok(later >= earlier, `${one} was ${earlier}, and then ${other} ${later}: half of a commit`);
  }
  return looks;
}

function faultAt(random: Random) {
  if (random() < 0.6) return undefined;
  return pick(random, [
    dropReply,
    dropReply,
    failedAfter,
    cutReply,
    dropRequest,
    failedBefore,
    throttled,
    conflicting,
    inProgress,
    { kind: 'delay', delayMs: between(random, 1, 20) } as const,
  ]);
}

function loseFirstReply(
  { proxy }: { proxy: FaultProxy },
  of: string,
  meanwhile: () => Promise<unknown> = async () => undefined,
): void {
  proxy.reset();
  proxy.script = ({ operation }, count) =>
    operation === of && count === 1 ? { kind: 'drop reply', meanwhile } : undefined;
}

async function ids(engine: Engine): Promise<string[]> {
  const items = await Array.fromAsync(itemsOf((await engine.scan(space))?.chunks ?? []));
  return items.map(({ id }) => id);
}

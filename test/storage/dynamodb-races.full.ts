import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import { CommitUnknown, type Engine, type Space, type Write } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import {
  apiError,
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

/** Lost replies during concurrent writes: each commit takes effect once, and every reported result is true. */
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

test('accepts a create whose reply was lost, even if the item was updated before the retry', async (t) => {
  const store = await faultyStore(t, ['books']);
  loseFirstReply(store, 'PutItem', () => store.direct.commit([replace('a', 'updated')]));
  assert.equal(await store.patient.commit([create('a', 'first')]), undefined);
  assert.equal(await store.direct.get(space, 'a'), 'updated');
});

for (const code of ['ResourceNotFoundException', 'ResourceNotFound', 'ItemCollectionSizeLimitExceeded']) {
  test(`reports a transaction that was cancelled because of ${code} as unavailable`, async (t) => {
    const store = await faultyStore(t, ['books']);
    await store.direct.commit([create('a', 'before')]);
    const reasons = { CancellationReasons: [{ Code: code, Message: 'by the script of a test' }] };
    store.proxy.script = ({ operation }) =>
      operation === 'TransactWriteItems' ? apiError('TransactionCanceledException', reasons) : undefined;
    await assert.rejects(
      store.patient.commit([replace('a', 'after')]),
      (error) => error instanceof ServiceError && error.code === 'unavailable',
    );
    assert.equal(await store.direct.get(space, 'a'), 'before');
  });
}

/** docs/operating/dynamodb.md, "What differs from the embedded store" */
test('makes a create again whose reply was lost, if the item was deleted before the retry', async (t) => {
  const store = await faultyStore(t, ['books']);
  loseFirstReply(store, 'PutItem', () => store.direct.commit([remove('a')]));
  assert.equal(await store.patient.commit([create('a', 'first')]), undefined);
  assert.equal(await store.direct.get(space, 'a'), 'first');
});

test('rejects a create of an existing item, even if the first reply was lost', async (t) => {
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

test('rejects a create if another writer has created the item with the same value', async (t) => {
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
  ['a conditional update', [replace('a', 'ours', 'old')], [replace('a', 'old')], 'old'],
  ['a delete', [remove('a')], [create('a', 'theirs')], 'theirs'],
  ['a batch', [replace('a', 'ours'), create('b', 'ours')], [replace('a', 'theirs'), remove('b')], 'theirs'],
] as const) {
  test(`does not repeat ${verb} whose reply was lost after another writer's commit`, async (t) => {
    const store = await faultyStore(t, ['books']);
    await store.direct.commit([create('a', 'old')]);
    loseFirstReply(store, 'TransactWriteItems', () => store.direct.commit(meanwhile));
    assert.equal(await store.patient.commit(commit), undefined);
    // On a busy machine a call may take too long, and is sent once more.
    assert.ok(store.proxy.count('TransactWriteItems') >= 2);
    assert.equal(await store.direct.get(space, 'a'), left);
    assert.equal(await store.direct.get(space, 'b'), undefined);
  });
}

const writers = extent({ short: 6, long: 32 });
const incrementsEach = extent({ short: 4, long: 100 });

test('counts each increment of many writers once, even if requests or replies are lost', async (t) => {
  const random = randomFrom(seedOf(t));
  const store = await faultyStore(t, ['books']);
  await store.direct.commit([create('first', '0'), create('last', '0')]);
  store.proxy.script = ({ operation }) =>
    operation === 'TransactWriteItems' || operation === 'GetItem' ? faultAt(random) : undefined;

  const reported: Reported = { done: [], unknown: [] };
  let isOver = false;
  const watching = watchPair(store.direct, () => isOver);
  const counting = Array.from({ length: writers }, (_, writer) => count(store, random, writer, reported));
  await Promise.all(counting).finally(() => {
    isOver = true;
  });
  assert.ok((await watching) > 0);

  store.proxy.script = () => undefined;
  const made = new Set((await ids(store.direct)).filter((id) => id.startsWith('by ')));
  const missing = reported.done.filter((id) => !made.has(id));
  assert.deepEqual(missing, [], 'reported as committed, but missing');
  assert.equal(reported.done.length, writers * incrementsEach);
  const unforeseen = [...made].filter((id) => !reported.done.includes(id) && !reported.unknown.includes(id));
  assert.deepEqual(unforeseen, [], 'reported as rejected, but committed');
  assert.equal(Number(await store.direct.get(space, 'first')), made.size);
  assert.equal(Number(await store.direct.get(space, 'last')), made.size);
  t.diagnostic(
    `${reported.done.length} made, ${reported.unknown.length} unknown, ${store.proxy.count()} requests`,
  );
});

/** The ids of the increments, by the reported result of their commits. */
interface Reported {
  readonly done: string[];
  readonly unknown: string[];
}

/** Each increment also creates an item in the same commit, so that the committed increments are known afterwards. */
async function count(store: FaultyStore, random: Random, writer: number, reported: Reported): Promise<void> {
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
      reported.done.push(id);
      n++;
    } catch (error) {
      if (error instanceof CommitUnknown) reported.unknown.push(id);
      else assert.equal((error as { code?: string }).code, 'overloaded', String(error));
    }
  }
}

/** Reads two items that each commit changes alike: the second read must not show an older value than the first. */
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

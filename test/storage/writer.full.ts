import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../src/errors.ts';
import type { Engine, Space, Write } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { commitWritesMax } from '../../src/storage/limits.ts';
import { commitQueueMax, commitQueueSizeMax } from '../../src/storage/lmdb/limits.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { itemBytesMax } from '../../src/tables/table-item.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { EngineProcess } from '../support/storage/engine-process.ts';
import { assertCompacted, walkLeaves } from '../support/storage/leaf-walk.ts';
import { untilAtRest } from '../support/storage/rest.ts';
import { SpaceModel } from '../support/storage/space-model.ts';

const space: Space = 'table:written';
const create = (id: string, value: string): Write => ({ kind: 'create', space, id, value, makeSpace: true });

function open(t: TestContext): { readonly engine: Engine; readonly file: string } {
  const folder = newDataFolder(t);
  const engine = openLmdbEngine(folder);
  t.after(() => engine.close());
  return { engine, file: join(folder, 'store.mdb') };
}

test('compacts the journal of an idle store into the leaves without loss, and then stops writing', async (t) => {
  const random = randomFrom(seedOf(t));
  const { engine, file } = open(t);
  const model = new SpaceModel();
  for (let round = 0; round < 3; round++) {
    const writing = Array.from({ length: 60 }, () => {
      const ids = new Set(Array.from({ length: 30 }, () => `${between(random, 0, 3_000)}`));
      const writes = Array.from(ids, (id): Write => {
        if (model.get(space, id) === undefined) return create(id, 'v'.repeat(between(random, 0, 600)));
        const kind = random() < 0.5 ? 'delete' : 'replace';
        return { kind, space, id, value: `replaced in round ${round}` };
      });
      model.commit(writes);
      return engine.commit(writes);
    });
    assert.deepEqual(new Set(await Promise.all(writing)), new Set([undefined]));
    await untilAtRest(file);
    const store = openStore(file);
    assertCompacted(store);
    assert.deepEqual(walkLeaves(store).get(space), model.items(space));
    await store.close();
    const scan = await engine.scan(space);
    assert.deepEqual(await Array.fromAsync(itemsOf(scan?.chunks ?? [])), model.items(space));
  }
});

test('rejects commits beyond the queue’s count as overloaded, and makes all accepted ones', async (t) => {
  const { engine } = open(t);
  const beyond = 500;
  const commits = Array.from({ length: commitQueueMax + beyond }, (_, n) =>
    engine.commit([create(`${n}`, '')]),
  );
  await assertAccepted(engine, commits, commitQueueMax);
});

test('rejects commits beyond the queue’s size as overloaded, and makes all accepted ones', async (t) => {
  const { engine } = open(t);
  const value = 'v'.repeat(itemBytesMax);
  // The commit that reaches the bound is still accepted.
  const accepted = Math.ceil(commitQueueSizeMax / itemBytesMax);
  const commits = Array.from({ length: accepted + 20 }, (_, n) =>
    engine.commit([create(`${n}`.slice(0, 1) + n, value)]),
  );
  await assertAccepted(engine, commits, accepted);
});

async function assertAccepted(
  engine: Engine,
  commits: readonly Promise<unknown>[],
  accepted: number,
): Promise<void> {
  const outcomes = await Promise.allSettled(commits);
  for (const [index, outcome] of outcomes.entries()) {
    if (index < accepted) assert.deepEqual(outcome, { status: 'fulfilled', value: undefined });
    else {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof ServiceError);
      assert.equal(outcome.reason.code, 'overloaded');
    }
  }
  assert.equal((await engine.describe(space))?.count, accepted);
  assert.equal(await engine.commit([create('afterwards', '')]), undefined);
}

test('makes a commit with the maximum of large writes concurrently with small ones', async (t) => {
  const { engine } = open(t);
  const value = '\u0001'.repeat(itemBytesMax / 8);
  const large = Array.from({ length: commitWritesMax }, (_, n) => create(`large-${n}`, value));
  const outcomes = await Promise.all([
    engine.commit(large),
    ...Array.from({ length: 200 }, (_, n) => engine.commit([create(`small-${n}`, '')])),
  ]);
  assert.deepEqual(new Set(outcomes), new Set([undefined]));
  for (const n of [0, commitWritesMax - 1]) assert.equal(await engine.get(space, `large-${n}`), value);
  assert.equal((await engine.describe(space))?.count, commitWritesMax + 200);
});

for (const [title, verb] of [
  ['throws', 'break writer'],
  ['ends silently', 'end writer'],
] as const) {
  test(`ends the process when its writer thread ${title}, and acknowledges no commit that was not made`, async (t) => {
    const folder = newDataFolder(t);
    const engine = await EngineProcess.open(t, folder);
    assert.equal(await engine.commit([create('before', '')]), undefined);
    // The thread ends asynchronously; commits that it receives before may still be made.
    const pending = [
      engine.request(verb),
      ...Array.from({ length: 50 }, (_, n) => engine.commit([create(`${n}`, '')])),
    ];
    const outcomes = (await inTime(Promise.allSettled(pending))).slice(1);
    const code = await inTime(engine.ended());
    assert.notEqual(code, 0);
    const again = openLmdbEngine(folder);
    t.after(() => again.close());
    assert.equal(await again.get(space, 'before'), '');
    for (const [n, { status }] of outcomes.entries()) {
      if (status === 'fulfilled') assert.equal(await again.get(space, `${n}`), '');
    }
  });
}

async function inTime<Result>(result: Promise<Result>): Promise<Result> {
  const controller = new AbortController();
  const late = sleep(givenUpMs, undefined, { signal: controller.signal }).then(() =>
    assert.fail(`timed out after ${givenUpMs} ms`),
  );
  late.catch(() => undefined);
  return Promise.race([result, late]).finally(() => controller.abort());
}

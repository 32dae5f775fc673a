import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../src/errors.ts';
import { callerQueueSizeMax, callerShareMax, largeRestMsMax } from '../../src/storage/lmdb/limits.ts';
import { CommitLanes } from '../../src/storage/lmdb/log/commit-lanes.ts';
import { GroupCommit } from '../../src/storage/lmdb/log/group-commit.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { Tables } from '../../src/tables/tables.ts';
import { newDataFolder } from '../support/service.ts';

/** How the commit queue shares its flushes among callers. */
interface Work {
  readonly caller: string;
  readonly number: number;
  readonly size: number;
}

const largeSize = 1_000_000;
const flushMs = 5;

/** Its flushes take a while, and are recorded. */
function recorded() {
  const flushes: Work[][] = [];
  const commits = new GroupCommit<Work, number>(async (batch) => {
    await sleep(flushMs);
    flushes.push([...batch]);
    return batch.map(({ number }) => number);
  });
  const add = (work: Work) => commits.add(work, { ...work, writes: 1 });
  return { flushes, commits, add };
}

function isMixed(flush: readonly Work[]): boolean {
  return new Set(flush.map(({ caller }) => caller)).size > 1;
}

test('a caller with large commits holds up another one by one flush at a time', async () => {
  const { flushes, add } = recorded();
  const large = Array.from({ length: 30 }, (_, number) => add({ caller: 'large', number, size: largeSize }));
  await sleep(0);
  for (let number = 0; number < 20; number++) {
    const before = flushes.length;
    await add({ caller: 'small', number, size: 10 });
    // The one under way, one large one, and its own.
    assert.ok(flushes.length - before <= 3, `${flushes.length - before} flushes`);
  }
  assert.equal(flushes.filter(isMixed).length, 0);
  assert.deepEqual(
    await Promise.all(large),
    Array.from({ length: 30 }, (_, number) => number),
  );
});

test('after a flush that a pause of the machine made long, large commits do not rest for as long', () => {
  const lanes = new CommitLanes();
  for (const caller of ['large', 'other']) lanes.add(caller, { cost: largeSize });
  const taken = lanes.take(2);
  assert.equal(taken.isLarge, true);
  lanes.flushed(taken, 3_600_000);
  assert.ok(lanes.restMs <= largeRestMsMax, `${lanes.restMs} ms`);
});

test('every caller gets its turn, and its commits keep their order', async () => {
  const { flushes, add } = recorded();
  const sizes: Record<string, number> = {
    large: largeSize,
    other: largeSize,
    many: callerShareMax / 8,
    small: 10,
  };
  const added = Object.entries(sizes).flatMap(([caller, size]) =>
    Array.from({ length: 20 }, (_, number) => add({ caller, number, size })),
  );
  await Promise.all(added);
  for (const caller of Object.keys(sizes)) {
    const made = flushes.flat().filter((work) => work.caller === caller);
    assert.deepEqual(
      made.map(({ number }) => number),
      Array.from({ length: 20 }, (_, number) => number),
    );
  }
  const ends = (caller: string) =>
    flushes.findLastIndex((flush) => flush.some((work) => work.caller === caller));
  assert.ok(ends('small') < ends('many') && ends('many') < Math.min(ends('large'), ends('other')));
  assert.ok(Math.abs(ends('large') - ends('other')) <= 3, 'two with the same load end at the same time');
});

test('many callers with more than a flush takes share the flushes', async () => {
  const { flushes, add } = recorded();
  const callers = Array.from({ length: 12 }, (_, n) => `caller ${n}`);
  const added = callers.flatMap((caller) =>
    Array.from({ length: 200 }, (_, number) => add({ caller, number, size: 10 })),
  );
  await Promise.all(added);
  const first = callers.map((caller) =>
    flushes.findIndex((flush) => flush.some((work) => work.caller === caller)),
  );
  assert.ok(Math.max(...first) <= 4, `the last caller is first served in flush ${Math.max(...first)}`);
});

test('a caller that is alone waits for nothing', async () => {
  const { flushes, add } = recorded();
  await Promise.all(
    Array.from({ length: 8 }, (_, number) => add({ caller: 'large', number, size: largeSize })),
  );
  const began = performance.now();
  await Promise.all(Array.from({ length: 100 }, (_, number) => add({ caller: 'large', number, size: 100 })));
  assert.ok(flushes.length <= 8, `${flushes.length} flushes in ${performance.now() - began} ms`);
});

test('one caller cannot fill the queue for the others', async () => {
  const { add } = recorded();
  const accepted = Math.ceil(callerQueueSizeMax / largeSize);
  const large = Array.from({ length: accepted + 3 }, (_, number) =>
    add({ caller: 'large', number, size: largeSize }),
  );
  const outcomes = Promise.allSettled(large);
  assert.equal(await add({ caller: 'small', number: 0, size: 10 }), 0);
  for (const [index, outcome] of (await outcomes).entries()) {
    if (index < accepted) assert.equal(outcome.status, 'fulfilled');
    else
      assert.ok(
        outcome.status === 'rejected' &&
          outcome.reason instanceof ServiceError &&
          outcome.reason.code === 'overloaded',
      );
  }
});

test('the store makes few of a caller’s large commits while another one waits', async (t) => {
  const engine = openLmdbEngine(newDataFolder(t));
  t.after(() => engine.close());
  const value = 'v'.repeat(largeSize / 4);
  let made = 0;
  const large = Array.from({ length: 16 }, async (_, n) => {
    const writes = Array.from(
      { length: 4 },
      (_, m) => ({ kind: 'put', space: 'table:large', id: `${n}-${m}`, value, makeSpace: true }) as const,
    );
    assert.equal(await engine.commit(writes, 'large'), undefined);
    made++;
  });
  await Promise.race(large);
  for (let n = 0; n < 4; n++) {
    const before = made;
    await engine.commit(
      [{ kind: 'create', space: 'table:small', id: `${n}`, value: '', makeSpace: true }],
      'small',
    );
    assert.ok(made - before <= 4, `${made - before} large commits`);
  }
  await Promise.all(large);
});

test('every write to a table is made for its caller', async (t) => {
  const engine = openLmdbEngine(newDataFolder(t));
  t.after(() => engine.close());
  const callers: (string | undefined)[] = [];
  const commit = engine.commit.bind(engine);
  engine.commit = (writes, caller) => {
    callers.push(caller);
    return commit(writes, caller);
  };
  const tables = new Tables(engine, { tables: 'open', declared: [] }).by('key');
  await tables.create('books', { id: 'a', name: '' });
  await tables.put('books', { id: 'b', name: '' });
  await tables.update('books', { id: 'a', name: 'x' });
  await tables.delete('books', { id: 'a' });
  await tables.batch('books', [{ create: { id: 'c', name: '' } }]);
  await tables.drop('books', { kind: 'put', space: 'service:audit', id: 'a', value: '', makeSpace: true });
  assert.deepEqual(new Set(callers), new Set(['key']));
  assert.equal(callers.length, 7);
});

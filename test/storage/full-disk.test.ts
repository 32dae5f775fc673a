import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import type { Engine, Space, Write } from '../../src/storage/engine.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { newDataFolder } from '../support/service.ts';

const space: Space = 'table:books';
const create = (id: string, value: string): Write => ({ kind: 'create', space, id, value, makeSpace: true });
const replace = (id: string, value: string): Write => ({ kind: 'replace', space, id, value });
const remove = (id: string): Write => ({ kind: 'delete', space, id });

test('a full disk takes commits that leave less than there was, and rejects all others', async (t) => {
  const engine = await onFullDisk(t, [create('a', 'xxx'), create('b', 'xxx'), create('c', 'xxx')]);
  const full = (commit: Promise<unknown>) =>
    assert.rejects(commit, (error) => error instanceof ServiceError && error.code === 'storage_full');
  await full(engine.commit([create('d', '')]));
  await full(engine.commit([replace('a', 'xxxx')]));
  // Nothing would become free, while each such commit needs space for a moment.
  await full(engine.commit([replace('a', 'yyy')]));
  await full(engine.commit([remove('a'), create('d', 'xxx')]));
  assert.equal(await engine.commit([replace('a', 'xx')]), undefined);
  assert.equal(await engine.commit([remove('b'), create('d', '')]), undefined);
  assert.equal(await engine.commit([remove('c')]), undefined);
  assert.deepEqual(await engine.commit([create('a', '')]), { write: 0, reason: 'exists' });
  assert.deepEqual(await engine.commit([remove('b')]), { write: 0, reason: 'missing' });
  const values = await Promise.all(['a', 'b', 'c', 'd'].map((id) => engine.get(space, id)));
  assert.deepEqual(values, ['xx', undefined, undefined, '']);
});

test('a full disk takes each delete, although it shares its flush with commits that are rejected', async (t) => {
  const ids = Array.from({ length: 90 }, (_, n) => `id-${n}`);
  const engine = await onFullDisk(
    t,
    ids.map((id) => create(id, 'x')),
  );
  const outcomes = await Promise.allSettled(
    ids.flatMap((id) => [engine.commit([remove(id)]), engine.commit([create(`${id}-new`, 'x')])]),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ids.flatMap(() => ['fulfilled', 'rejected']),
  );
  assert.equal((await engine.describe(space))?.count, 0);
});

/** A store with items on a disk that has room, and less of it than the reserve. */
async function onFullDisk(t: TestContext, items: readonly Write[]): Promise<Engine> {
  const folder = newDataFolder(t);
  const before = openLmdbEngine(folder);
  assert.equal(await before.commit(items), undefined);
  await before.close();
  // More than any disk has.
  const engine = openLmdbEngine(folder, undefined, { diskReserveBytes: Number.MAX_SAFE_INTEGER });
  t.after(() => engine.close());
  return engine;
}

import assert from 'node:assert/strict';
import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkReady } from '../../src/app/readiness.ts';
import { ServiceError } from '../../src/errors.ts';
import type { Engine } from '../../src/storage/engine.ts';
import { ObservedEngine } from '../../src/storage/observed.ts';
import { noMetrics } from '../../src/telemetry.ts';
import { openStoreOf, startTestService } from '../support/service.ts';

const onLmdb = process.env.TEST_STORE === 'dynamodb' ? { skip: 'needs a local disk' } : {};

test('readyz: reports the master keys while their file is missing, wrong or readable by others', async (t) => {
  const service = await startTestService(t);
  const file = `${service.data}.key`;
  const assertRed = async (why: string) => {
    const { status, json } = await service.get('/readyz');
    assert.deepEqual([status, json.statusCode, json.body.failed], [503, 503, ['master_keys']], why);
    assert.equal(json.body.error.code, 'unavailable');
    assert.match(json.body.error.message, /counterfoil doctor/);
  };
  assert.equal((await service.get('/readyz')).status, 200);
  renameSync(file, `${file}.away`);
  await assertRed('gone');
  writeFileSync(file, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
  await assertRed('another');
  renameSync(`${file}.away`, file);
  chmodSync(file, 0o644);
  await assertRed('open to others');
  chmodSync(file, 0o600);
  assert.equal((await service.get('/readyz')).status, 200);
});

test('readyz: reports a full disk without writing to it, and reads still succeed', onLmdb, async (t) => {
  const first = await startTestService(t);
  await first.post('/v3/table/books/create', { id: 'a', name: 'b' });
  await first.stop();
  // More than any disk has.
  const service = await startTestService(t, {
    data: first.data,
    diskReserveBytes: Number.MAX_SAFE_INTEGER,
  });
  for (const _again of [1, 2]) {
    const { status, json } = await service.get('/readyz');
    assert.deepEqual([status, json.body.failed], [503, ['disk']]);
    const rejected = await service.post('/v3/table/books/create', { id: 'c', name: 'd' });
    assert.deepEqual([rejected.status, rejected.json.body.error.code], [507, 'storage_full']);
  }
  assert.equal((await service.get('/v3/table/books/read')).status, 200);
  assert.equal((await service.get('/livez')).status, 200, 'it is alive: a restart would not help');
});

test('readyz: reports a store that was closed', async (t) => {
  const { data, stop } = await startTestService(t);
  await stop();
  const engine = await openStoreOf(data);
  const masterKeys = { settings: ['given'], command: undefined, dataFolder: data };
  await checkReady({ engine, masterKeys }, false);
  await engine.close();
  await assert.rejects(checkReady({ engine, masterKeys }, false), (error: ServiceError) => {
    assert.equal(error.code, 'unavailable');
    if (onLmdb.skip === undefined) assert.deepEqual(error.details.failed, ['store_read', 'store_write']);
    return true;
  });
});

test('readyz: a failed commit counts until one succeeds', async () => {
  let failure: ServiceError | undefined;
  const inner = {
    reads: 'snapshot',
    get: async () => undefined,
    commit: async () => {
      if (failure !== undefined) throw failure;
      return undefined;
    },
    checkWritable: async () => undefined,
  } as unknown as Engine;
  const engine = new ObservedEngine(inner, noMetrics);
  const masterKeys = { settings: ['given'], command: undefined, dataFolder: '' };
  const failed = () =>
    checkReady({ engine, masterKeys }, false).then(
      () => [],
      (error: ServiceError) => error.details.failed,
    );
  assert.deepEqual(await failed(), []);
  for (const [code, check] of [
    ['unavailable', 'store_write'],
    ['storage_full', 'disk'],
  ] as const) {
    failure = new ServiceError(code);
    await assert.rejects(engine.commit([]));
    assert.deepEqual(await failed(), [check]);
    failure = undefined;
    await engine.commit([]);
    assert.deepEqual(await failed(), []);
  }
  // A rejected burst of writes does not mean that the store is broken.
  failure = new ServiceError('overloaded');
  await assert.rejects(engine.commit([]));
  assert.deepEqual(await failed(), []);
});

test('readyz: reports a store that does not respond as not readable', async () => {
  const hangs = new Promise<never>(() => undefined);
  const engine = { get: () => hangs, checkWritable: async () => undefined } as unknown as Engine;
  const masterKeys = { settings: ['given'], command: undefined, dataFolder: '' };
  const asked = checkReady({ engine, masterKeys, checkMsMax: 20 }, false);
  await assert.rejects(asked, (error: ServiceError) => {
    assert.deepEqual(error.details.failed, ['store_read']);
    return true;
  });
});

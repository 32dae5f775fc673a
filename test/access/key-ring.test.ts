import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { newApiKeyId, newApiKeyText } from '../../src/access/keys/api-key.ts';
import { apiKeysAgeMsMax, apiKeysRefreshMs, KeyRing } from '../../src/access/keys/key-ring.ts';
import { CallLimits } from '../../src/access/limits/call-limits.ts';
import { ServiceError } from '../../src/errors.ts';
import { healthRoutes } from '../../src/http/routes/health.ts';
import { tableRoutes } from '../../src/http/routes/tables.ts';
import { openApp } from '../../src/http/server/app.ts';
import { Authorizer } from '../../src/http/server/authorize.ts';
import { Listener } from '../../src/http/server/listener.ts';
import { openLog } from '../../src/log.ts';
import { CardTestingLimiter } from '../../src/payments/card-testing.ts';
import { digest } from '../../src/random.ts';
import type { Engine } from '../../src/storage/engine.ts';
import { itemText } from '../../src/storage/item-text.ts';
import { Tables } from '../../src/tables/tables.ts';
import { bearing, keyRequest } from '../support/access/keys.ts';
import { unguarded } from '../support/http/unguarded.ts';

/** A store of keys that counts its reads, and can be made unavailable. */
function keyStore() {
  const keys = new Map<string, string>();
  const state = { generation: '0', isUnavailable: false, reads: 0, scans: 0 };
  const engine: Engine = {
    reads: 'snapshot',
    spaces: async () => [],
    get: async (space) => {
      if (state.isUnavailable) throw new ServiceError('unavailable');
      if (space !== 'service:access') return undefined;
      state.reads++;
      return state.generation;
    },
    describe: async () => undefined,
    count: async () => undefined,
    removeSpace: async () => 'missing',
    scan: async (space) => {
      if (space !== 'service:api-keys') return undefined;
      state.scans++;
      const text = [...keys].map(([id, value]) => itemText(id, value)).join();
      return {
        count: keys.size,
        textBytes: text.length,
        version: state.generation,
        chunks: text === '' ? [] : [Buffer.from(text)],
      };
    },
    commit: async () => undefined,
    checkWritable: async () => undefined,
    close: async () => undefined,
  };
  const add = (fields: object = {}): string => {
    const id = newApiKeyId();
    const text = newApiKeyText('secret', id);
    const createdAt = new Date().toISOString();
    keys.set(id, JSON.stringify({ id, ...keyRequest(), hash: digest(text), createdAt, ...fields }));
    state.generation += '1';
    return text;
  };
  const clear = () => {
    keys.clear();
    state.generation += '1';
  };
  return { engine, state, add, clear };
}

function stopClock(t: TestContext) {
  let at = 1_000_000;
  t.mock.method(performance, 'now', () => at);
  return (ms: number) => {
    at += ms;
  };
}

test('never authorizes with keys that were read more than a second ago', async (t) => {
  const pass = stopClock(t);
  const { engine, state, add, clear } = keyStore();
  const key = add();
  const ring = new KeyRing(engine, Date.now);
  assert.ok(!ring.isFresh(performance.now()), 'no keys are known before the first read');
  await ring.refresh();
  assert.ok(ring.find(key) !== undefined);
  clear();
  pass(apiKeysRefreshMs - 1);
  assert.deepEqual([ring.isFresh(performance.now()), state.reads], [true, 1], 'fresh: no read');
  pass(1);
  assert.deepEqual(
    [ring.isFresh(performance.now()), state.reads],
    [true, 2],
    'older: one read in the background',
  );
  assert.deepEqual([ring.isFresh(performance.now()), state.reads], [true, 2]);
  await ring.refresh();
  assert.equal(ring.find(key), undefined);
  state.isUnavailable = true;
  pass(apiKeysAgeMsMax - 1);
  assert.ok(ring.isFresh(performance.now()));
  pass(1);
  assert.ok(!ring.isFresh(performance.now()), 'a failed read refreshes nothing');
  await assert.rejects(ring.refresh(), { code: 'unavailable' });
  assert.ok(!ring.isFresh(performance.now()));
});

test('reads the keys again only when they have changed, and sees every change made before the request', async () => {
  const { engine, state, add } = keyStore();
  const ring = new KeyRing(engine, Date.now);
  await ring.refresh();
  await Promise.all(Array.from({ length: 10 }, () => ring.refresh()));
  assert.deepEqual([state.reads, state.scans], [3, 1], 'concurrent callers share a read');
  const under = ring.refresh();
  const key = add();
  const after = ring.refresh();
  await Promise.all([under, after]);
  assert.ok(ring.find(key) !== undefined);
});

test('a failure to record the use of a key does not affect the request', async () => {
  const { engine, add } = keyStore();
  const ring = new KeyRing(
    { ...engine, commit: () => Promise.reject(new ServiceError('storage_full')) },
    Date.now,
  );
  const key = add();
  await ring.refresh();
  ring.noteUse(ring.find(key)?.id as string, performance.now());
});

test('responds 503 while the keys cannot be read, and stays live', async (t) => {
  const pass = stopClock(t);
  const { engine, state, add } = keyStore();
  const key = add();
  const keys = new KeyRing(engine, Date.now);
  await keys.refresh();
  const authorizer = new Authorizer({
    keys,
    limits: new CallLimits({}),
    cardTesting: new CardTestingLimiter({ engine, cachedMs: 0, now: Date.now }),
    areOpenDeclinesCounted: false,
    captcha: undefined,
    console: undefined,
    isNeverOpen: false,
    trustedOrigins: new Set(),
  });
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  const tables = new Tables(engine, { tables: 'open', declared: [] });
  const noMetrics = async () => ({ contentType: '', text: '' });
  const app = await openApp(listener, {
    ...unguarded,
    authorizer,
    log: openLog('silent'),
    isStopping: () => false,
    routes: [tableRoutes(tables, '', []), healthRoutes(async () => [], noMetrics)],
  });
  t.after(async () => {
    await listener.stop();
    await app.close();
  });
  const ask = async (path: string, headers = {}) => {
    const response = await fetch(listener.origin + path, { headers });
    return [
      response.status,
      ((await response.json()) as { body: { error?: { code: string } } }).body.error?.code,
    ];
  };
  assert.deepEqual(await ask('/v3/table/books/read', bearing(key)), [404, 'table_not_found']);
  state.isUnavailable = true;
  pass(apiKeysAgeMsMax);
  for (const headers of [bearing(key), {}]) {
    assert.deepEqual(await ask('/v3/table/books/read', headers), [503, 'unavailable']);
  }
  assert.deepEqual(await ask('/livez'), [200, undefined]);
  state.isUnavailable = false;
  assert.deepEqual(await ask('/v3/table/books/read', bearing(key)), [404, 'table_not_found']);
});

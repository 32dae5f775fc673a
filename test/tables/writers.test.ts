import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { tableRoutes } from '../../src/http/routes/tables.ts';
import { openApp } from '../../src/http/server/app.ts';
import { Listener } from '../../src/http/server/listener.ts';
import { openLog } from '../../src/log.ts';
import { Tables } from '../../src/tables/tables.ts';
import { unguarded } from '../support/http/unguarded.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';
import { engineWith } from '../support/sign-in/sign-in-kit.ts';

const requests: Readonly<Record<string, readonly [method: string, path: string, body?: object]>> = {
  create: ['POST', 'create', { id: 'a', name: '1' }],
  update: ['PUT', 'update', { id: 'a', name: '2' }],
  put: ['PUT', 'put', { id: 'b', name: '3' }],
  batch: ['POST', 'batch', { writes: [{ create: { id: 'c', name: '4' } }] }],
  delete: ['DELETE', 'delete', { id: 'a' }],
  drop: ['DELETE', ''],
};

test('every write of a table is made for its caller, so that keys share the time of the store', async (t) => {
  const { send, writers } = await startTables(t);
  for (const [what, request] of Object.entries(requests)) {
    writers.clear();
    assert.equal(await send(request, 'key-1'), 200, what);
    assert.deepEqual([...writers], ['key-1'], what);
  }
});

test('without a key, a write of a table is made for its address', async (t) => {
  const { send, writers } = await startTables(t);
  for (const [what, request] of Object.entries(requests)) {
    writers.clear();
    assert.equal(await send(request, ''), 200, what);
    assert.deepEqual([...writers], ['address:127.0.0.1'], what);
  }
});

/** The routes of tables, and for whom the store was written to. */
async function startTables(t: TestContext) {
  const store = await openStoreOf(newDataFolder(t));
  t.after(() => store.close());
  const writers = new Set<string | undefined>();
  const engine = engineWith(store, {
    commit: (writes, caller) => {
      writers.add(caller);
      return store.commit(writes, caller);
    },
  });
  const listener = await Listener.listen({ host: '127.0.0.1', port: 0 });
  const app = await openApp(listener, {
    log: openLog('silent'),
    ...unguarded,
    authorizer: {
      admit: (request) => {
        const id = request.headers.authorization ?? '';
        request.caller = { id, rights: undefined };
        return undefined;
      },
    },
    isStopping: () => false,
    routes: [tableRoutes(new Tables(engine, { tables: 'open', declared: [] }), '', [])],
  });
  t.after(async () => {
    await listener.stop();
    await app.close();
  });
  const send = async ([method, path, body]: (typeof requests)[string], key: string): Promise<number> => {
    const response = await fetch(`${listener.origin}/v3/table/books${path === '' ? '' : `/${path}`}`, {
      method,
      headers: {
        ...(key === '' ? {} : { authorization: key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    await response.text();
    return response.status;
  };
  return { send, writers };
}

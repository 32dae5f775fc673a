import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { fixedKeys, masterKey } from '../../src/secrets/key-file.ts';
import { openAll, rewrapAll } from '../../src/secrets/sealed-records.ts';
import type { SealedRecords } from '../../src/secrets/sealer.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import type { Engine } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const space = 'service:integrations';
const [old, fresh] = [masterKey(randomBytes(32)), masterKey(randomBytes(32))];
const former = new Sealer(fixedKeys([old]));
const sealer = new Sealer(fixedKeys([fresh, old]));

const placeOf = (name: string) => ({ record: 'test', name, field: 'secret' });
const records: SealedRecords = {
  space,
  exchange(id, text, exchange) {
    const record = JSON.parse(text) as { seal: string };
    return JSON.stringify({ ...record, seal: exchange(record.seal, placeOf(id)) });
  },
};

function recordOf(name: string, changes = 0, by = former): string {
  return JSON.stringify({ seal: by.seal(`secret of ${name}`, placeOf(name)), changes });
}

/** A store with `count` records under the old key. */
async function openStore(t: TestContext, count: number): Promise<Engine> {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  const names = Array.from({ length: count }, (_, index) => `r${String(index).padStart(5, '0')}`);
  await Promise.all(
    names.map((id) => engine.commit([{ kind: 'create', space, id, value: recordOf(id), makeSpace: true }])),
  );
  return engine;
}

/** An engine on which another writer changes every record just before it is rewrapped for the first time. */
function contended(engine: Engine, change: (id: string) => Promise<unknown>): Engine {
  const changed = new Set<string>();
  return {
    reads: engine.reads,
    spaces: () => engine.spaces(),
    get: (...args) => engine.get(...args),
    describe: (...args) => engine.describe(...args),
    count: (...args) => engine.count(...args),
    removeSpace: (...args) => engine.removeSpace(...args),
    scan: (...args) => engine.scan(...args),
    checkWritable: () => engine.checkWritable(),
    close: () => engine.close(),
    commit: async (writes) => {
      const id = writes[0]?.id ?? '';
      if (!changed.has(id)) await change(id);
      changed.add(id);
      return engine.commit(writes);
    },
  };
}

test('loses no change that another writer makes to a record during its rewrap', async (t) => {
  const engine = await openStore(t, 20);
  const racing = contended(engine, async (id) => {
    const value = recordOf(id, 1);
    await engine.commit([{ kind: 'replace', space, id, value }]);
  });
  const pass = await rewrapAll(racing, sealer, [records], () => undefined);
  assert.equal(pass.rewrapped, 20);
  assert.deepEqual(pass.problems, []);
  for (const { changes, seal } of await all(engine)) {
    assert.equal(changes, 1);
    assert.match(seal, new RegExp(`^v2\\.${fresh.id}\\.`));
  }
});

test('restores no record that is removed during its rewrap', async (t) => {
  const engine = await openStore(t, 20);
  const racing = contended(engine, (id) => engine.commit([{ kind: 'delete', space, id }]));
  const pass = await rewrapAll(racing, sealer, [records], () => undefined);
  assert.deepEqual([pass.rewrapped, (await engine.describe(space))?.count ?? 0], [0, 0]);
});

test('rewraps more than one page of records, and a damaged record does not stop the others', async (t) => {
  const engine = await openStore(t, 2_100);
  await engine.commit([{ kind: 'replace', space, id: 'r01000', value: recordOf('another') }]);
  await engine.commit([{ kind: 'replace', space, id: 'r01001', value: 'nonsense' }]);
  const pass = await rewrapAll(engine, sealer, [records], () => undefined);
  assert.deepEqual([pass.records, pass.rewrapped, pass.problems.length], [2_100, 2_098, 2]);
  assert.match(pass.problems.join('\n'), /test r01000, secret: .*moved/);
  const found = await openAll(engine, new Sealer(fixedKeys([fresh])), [records]);
  assert.deepEqual([found.problems.length, found.underKeys.get(fresh.id)], [2, 2_098]);
});

async function all(engine: Engine): Promise<{ changes: number; seal: string }[]> {
  const texts: { changes: number; seal: string }[] = [];
  for await (const { name } of itemsOf((await engine.scan(space))?.chunks ?? []))
    texts.push(JSON.parse(name));
  return texts;
}

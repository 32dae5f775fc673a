import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fixedKeys, masterKey } from '../../src/secrets/master-keys.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { PendingSignIns } from '../../src/sign-in/pending-sign-ins.ts';
import { Sessions } from '../../src/sign-in/sessions.ts';
import type { Engine, Space } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const order = {
  provider: 'google',
  integration: 'web',
  clientId: 'client-1',
  returnTo: { url: 'https://id.example.com/', isOurs: true },
  query: '',
} as const;
const day = 24 * 60 * 60 * 1_000;
const running = new AbortController().signal;

test('removes sign-ins that nobody finished, and those alone', async (t) => {
  const engine = await open(t);
  let now = Date.now();
  const pending = new PendingSignIns(
    engine,
    new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))])),
    () => now,
  );
  await Promise.all(Array.from({ length: 230 }, () => pending.keep(order, pending.newChecks())));
  now += 10 * 60 * 1_000;
  const { checks, browserKey } = await pending.keep(order, pending.newChecks());
  await pending.sweep(running);
  assert.equal((await idsOf(engine, 'service:sign-ins')).length, 231);
  now++;
  await pending.sweep(running);
  assert.equal((await idsOf(engine, 'service:sign-ins')).length, 1);
  assert.deepEqual((await pending.take(checks.state, () => browserKey)).order, order);
});

test('removes sessions that have ended by themselves, and those alone', async (t) => {
  const engine = await open(t);
  let now = Date.now();
  const sessions = new Sessions(engine, () => now);
  const begin = (user: number) =>
    sessions.begin(
      { issuer: 'https://idp.example.com', subject: `${user}`, provider: 'google', integration: 'web' },
      undefined,
    );
  await Promise.all(Array.from({ length: 250 }, (_, user) => begin(user)));
  now += 7 * day + 1;
  const { cookie } = await begin(1_000);
  await sessions.sweep(running);
  assert.equal((await idsOf(engine, 'service:sessions')).length, 1);
  assert.ok(await sessions.find(cookie));
});

test('begins no sign-in where a hundred thousand are open', async (t) => {
  const engine = await open(t);
  const describe = async () => ({ count: 100_000, textBytes: 0, version: '1' });
  const full = new Proxy(engine, {
    get: (target, name: keyof Engine) => {
      const value = target[name];
      if (name === 'describe') return describe;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const pending = new PendingSignIns(full, new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))])), Date.now);
  await assert.rejects(pending.keep(order, pending.newChecks()), { reason: 'too_many' });
  assert.deepEqual(await idsOf(engine, 'service:sign-ins'), []);
});

async function open(t: TestContext): Promise<Engine> {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  return engine;
}

async function idsOf(engine: Engine, space: Space): Promise<string[]> {
  const ids = [];
  const scan = await engine.scan(space);
  for await (const { id } of itemsOf(scan?.chunks ?? [])) ids.push(id);
  return ids;
}

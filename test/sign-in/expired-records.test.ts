import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OneTimeIds } from '../../src/sign-in/one-time-ids.ts';
import { Sessions } from '../../src/sign-in/sessions.ts';
import type { Engine, Space } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const day = 24 * 60 * 60 * 1_000;
const running = new AbortController().signal;

test('removes expired one-time ids, and no others', async (t) => {
  const engine = await open(t);
  let now = Date.now();
  const ids = new OneTimeIds(engine, () => now);
  const use = (id: string, expiresAt: number) => ({ kind: 'sign_in_state', id, expiresAt }) as const;
  for (let n = 0; n < 230; n++) await engine.commit([ids.use(use(`${n}`, now + 1_000))]);
  const late = use('late', now + 2_000);
  assert.equal(await engine.commit([ids.use(late)]), undefined);
  now += 1_000;
  await ids.sweep(running);
  assert.equal((await idsOf(engine, 'service:one-time-ids')).length, 231);
  now++;
  await ids.sweep(running);
  assert.equal((await idsOf(engine, 'service:one-time-ids')).length, 1);
  assert.deepEqual(await engine.commit([ids.use(late)]), { write: 0, reason: 'exists' });
});

test('removes expired sessions, and no others', async (t) => {
  const engine = await open(t);
  let now = Date.now();
  const sessions = new Sessions(engine, () => now);
  const begin = (user: number) =>
    sessions.begin({
      identity: {
        issuer: 'https://idp.example.com',
        subject: `${user}`,
        provider: 'google',
        integration: 'web',
      },
    });
  await Promise.all(Array.from({ length: 250 }, (_, user) => begin(user)));
  now += 7 * day + 1;
  const { cookie } = await begin(1_000);
  await sessions.sweep(running);
  assert.equal((await idsOf(engine, 'service:sessions')).length, 1);
  assert.ok(await sessions.find(cookie));
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

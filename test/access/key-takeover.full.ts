import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { runCommand } from '../support/command.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { startTestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';
const request = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };

async function start(t: TestContext) {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const service = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  const newKey = async (...args: string[]) => {
    const scopes = ['--scope', 'payments:create'];
    const made = await runCommand(['keys', 'create', ...scopes, ...args], { COUNTERFOIL_DATA: service.data });
    assert.equal(made.status, 0, made.errors);
    return made.output.trim();
  };
  const pay = async (key: string) =>
    service.post(path, request, { authorization: `Bearer ${key}`, 'idempotency-key': 'order-7' });
  return { ledger, newKey, pay };
}

const idOf = (key: string) => /^cfk_([0-9a-f]+)\./.exec(key)?.[1] ?? '';

test('a new key of the same name takes over the idempotency keys: nothing is charged again', async (t) => {
  const { ledger, newKey, pay } = await start(t);
  const first = await pay(await newKey('--name', 'shop'));
  const second = await pay(await newKey('--name', 'shop'));
  assert.deepEqual([second.status, second.text], [200, first.text]);
  assert.equal(second.headers.get('idempotent-replayed'), 'true');
  assert.equal(ledger.charges.length, 1);
});

test('a key that replaces another takes over its idempotency keys, and those of the keys before it', async (t) => {
  const { ledger, newKey, pay } = await start(t);
  const old = await newKey('--name', 'shop');
  const first = await pay(old);
  const next = await newKey('--name', 'shop 2026', '--replaces', idOf(old));
  const last = await newKey('--name', 'shop 2027', '--replaces', idOf(next));
  for (const key of [next, last]) assert.equal((await pay(key)).text, first.text);
  assert.equal(ledger.charges.length, 1);
});

test('idempotency keys of two shops are not the same', async (t) => {
  const { ledger, newKey, pay } = await start(t);
  await pay(await newKey('--name', 'shop'));
  await pay(await newKey('--name', 'another shop'));
  assert.equal(ledger.charges.length, 2);
});

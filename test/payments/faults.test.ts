import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const simulatedPath = '/stage/payment/simulated/charge';
const stripePath = '/stage/payment/stripe/charge';
const request = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };

test('two processes that share a store charge a key once, whichever process receives it', async (t) => {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const data = newDataFolder(t);
  const env = { COUNTERFOIL_SIMULATED_LEDGER: origin };
  const services = [await startTestService(t, { data, env }), await startTestService(t, { data, env })];
  for (let round = 0; round < 10; round++) {
    const key = { 'idempotency-key': `order-${round}` };
    const responses = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (services[index % 2] as (typeof services)[0]).post(simulatedPath, request, key),
      ),
    );
    assert.equal(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size, 1);
    assert.equal(responses.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
    assert.equal(ledger.charges.length, round + 1);
  }
});

test('the service starts while the processor is down, and charges when it is back', async (t) => {
  const stripe = await startScriptedStripe(t);
  const unreachable = 'http://127.0.0.1:1';
  const data = newDataFolder(t);
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: unreachable };
  const service = await startTestService(t, { data, env });
  assert.equal((await service.get('/readyz')).status, 200);
  const key = { 'idempotency-key': 'order-7' };
  const rejected = await service.post(stripePath, request, key);
  assert.deepEqual([rejected.status, rejected.json.body.error.code], [502, 'processor_error']);
  await service.stop();

  const back = { ...env, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const next = await startTestService(t, { data, env: back });
  assert.equal((await next.post(stripePath, request, key)).status, 200, 'the same key succeeds now');
  assert.equal(stripe.charges.length, 1);
});

test('a clock that jumps back by years does not delay a charge in doubt', async (t) => {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  let aheadMs = 0;
  const service = await startTestService(t, {
    now: () => Date.now() + aheadMs,
    env: { COUNTERFOIL_SIMULATED_LEDGER: origin },
  });
  const lost = await service.post(simulatedPath, { ...request, token: 'tok_lost_reply' });
  assert.equal(lost.status, 504);
  aheadMs = -3 * 365 * 24 * 60 * 60 * 1_000;
  const giveUpAt = Date.now() + givenUpMs;
  let status = 'in_doubt';
  while (status !== 'succeeded' && Date.now() < giveUpAt) {
    await sleep(50);
    status = (await service.get(lost.headers.get('location') ?? '')).json.body.status;
  }
  assert.equal(status, 'succeeded');
  assert.equal(ledger.charges.length, 1);
});

test('rejects a currency that the processor does not support, naming it, and charges nothing', async (t) => {
  const stripe = await startScriptedStripe(t);
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const service = await startTestService(t, { env });
  const response = await service.post(stripePath, { ...request, token: 'tok_currency_not_accepted' });
  assert.deepEqual(
    [response.status, response.json.body.error.code, response.json.body.error.param],
    [400, 'invalid_request', 'currency'],
  );
  assert.deepEqual(stripe.charges, []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { chargeRequest, path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';

const key = { 'idempotency-key': 'order-1042' };

test('another account’s records settle nothing, and the right key resumes', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const lost = await service.post(path, { ...chargeRequest, token: 'pm_dropped_after_charging' }, key);
  const at = lost.headers.get('location') ?? '';
  await service.stop();
  stripe.repair();

  stripe.command({ set: { account: 'acct_another' } });
  const other = await startWithStripe(t, { stripe, data: service.data, ownerSilenceMsMax: 300 });
  other.clock.aheadMs = 11 * 60_000;
  const giveUpAt = Date.now() + givenUpMs;
  while (!/"event":"charge_of_another_account"/.test(other.service.logged())) {
    assert.ok(Date.now() < giveUpAt, 'the other account is not logged');
    await sleep(50);
  }
  assert.equal((await other.service.get(at)).json.body.status, 'in_doubt');
  const rejected = await other.service.post(`${at}/cancel`, {});
  assert.deepEqual([rejected.status, rejected.json.body.error.code], [503, 'unavailable']);
  const doctor = await runCommand(['doctor'], {
    COUNTERFOIL_DATA: service.data,
    PORT: '0',
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
  });
  assert.match(
    doctor.output,
    /problem processor stripe: 1 open payments.* another account than acct_another/,
  );
  await other.service.stop();

  stripe.command({ set: { account: 'acct_scripted' } });
  const back = await startWithStripe(t, { stripe, data: service.data, ownerSilenceMsMax: 300 });
  back.clock.aheadMs = 60 * 60_000;
  const payment = await paymentAfter(back.service, at, ['calling', 'in_doubt']);
  assert.deepEqual([payment.status, payment.charge_id], ['succeeded', stripe.charges[0]?.chargeId]);
  assert.equal(stripe.charges.length, 1);
});

test('a charge whose processor is unreachable is not attempted: 502 at once, and no charge later', async (t) => {
  const { service } = await startWithStripe(t, {
    env: { COUNTERFOIL_STRIPE_API_BASE: 'http://127.0.0.1:1' },
  });
  const rejected = await service.post(path, { ...chargeRequest, token: 'pm_card_visa' }, key);
  assert.deepEqual([rejected.status, rejected.json.body.error.code], [502, 'processor_error']);
  assert.equal(rejected.json.body.error.retryable, true);
});

test('a processor that becomes unreachable between two charges is not called for the second', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  assert.equal((await service.post(path, { ...chargeRequest, token: 'pm_card_visa' })).status, 200);
  await stripe.close();
  const rejected = await service.post(path, { ...chargeRequest, token: 'pm_card_visa' }, key);
  assert.deepEqual([rejected.status, rejected.json.body.error.code], [502, 'processor_error'], rejected.text);
  const found = await service.get(`${path}?idempotency_key=order-1042`);
  assert.equal(found.status, 404, 'the key is free for the next try');
});

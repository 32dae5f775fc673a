import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { chargeSoughtMsMax } from '../../src/payments/limits.ts';
import { runCommand } from '../support/command.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { chargeRequest, path, paymentAfter, startWithStripe } from '../support/payments/stripe-service.ts';

const key = { 'idempotency-key': 'order-1042' };
const metadata = { seat: '12A' };
const settings = {
  payments: {
    routes: { charge: { on_success: { table: 'seats', id: 'metadata.seat', name: 'payment_id' } } },
  },
};

/** A payment that needs review, and the command that runs next to its service. */
async function reviewed(t: TestContext, token: string) {
  const started = await startWithStripe(t, { file: writeSettings(t, settings) });
  const { service, stripe, clock } = started;
  const lost = await service.post(path, { ...chargeRequest, token, metadata }, key);
  assert.equal(lost.status, 504);
  stripe.turnsAway = true;
  clock.aheadMs = 24 * 60 * 60_000 + chargeSoughtMsMax;
  const at = lost.headers.get('location') ?? '';
  const payment = await paymentAfter(service, at, ['in_doubt']);
  assert.equal(payment.status, 'needs_review');
  stripe.turnsAway = false;
  const env = {
    COUNTERFOIL_DATA: service.data,
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
  };
  const command = (...args: string[]) => runCommand(args, env);
  return { ...started, at, id: payment.id as string, command };
}

test('payments resolve --declined ends a payment of unknown outcome, and frees its seat', async (t) => {
  const { service, id, at, command } = await reviewed(t, 'pm_error_before_charging');
  const held = await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata });
  assert.equal(held.status, 409);
  const wrong = await command('payments', 'resolve', id, '--succeeded', 'ch_unknown');
  assert.equal(wrong.status, 2);
  assert.match(wrong.errors, /processor has no charge ch_unknown/);
  const resolved = await command('payments', 'resolve', id, '--declined');
  assert.deepEqual([resolved.status, resolved.output], [0, `${id} is declined\n`], resolved.errors);
  assert.equal((await service.get(at)).json.body.status, 'declined');
  assert.equal((await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata })).status, 200);
  const audit = await command('audit', 'list');
  assert.match(audit.output, new RegExp(`payment\\.resolved.*${id}`));
});

test('payments resolve --succeeded accepts the charge with the payment’s id, and --declined is rejected', async (t) => {
  const { service, stripe, id, at, command } = await reviewed(t, 'pm_error_after_charging');
  const chargeId = stripe.charges[0]?.chargeId ?? '';
  const denied = await command('payments', 'resolve', id, '--declined');
  assert.equal(denied.status, 2);
  assert.match(
    denied.errors,
    new RegExp(`processor has the charge: resolve it with --succeeded ${chargeId}`),
  );
  const resolved = await command('payments', 'resolve', id, '--succeeded', chargeId);
  assert.equal(resolved.status, 0, resolved.errors);
  const payment = (await service.get(at)).json.body;
  assert.deepEqual([payment.status, payment.charge_id, payment.item.status], ['succeeded', chargeId, 'made']);
  const neither = await command('payments', 'resolve', id);
  assert.equal(neither.status, 2);
});

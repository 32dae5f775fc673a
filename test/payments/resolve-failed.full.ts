import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { chargeRequest, path, startWithStripe } from '../support/payments/stripe-service.ts';

test('payments resolve --succeeded rejects a charge that failed in the processor’s records', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const declined = await service.post(path, { ...chargeRequest, token: 'tok_insufficient_funds' });
  assert.equal(declined.status, 402);
  const id = declined.headers.get('payment-id') ?? '';
  const [failed] = stripe.records().charges;
  assert.equal(failed?.status, 'failed');
  const resolved = await runCommand(['payments', 'resolve', id, '--succeeded', failed?.id ?? ''], {
    COUNTERFOIL_DATA: service.data,
    COUNTERFOIL_STRIPE_KEY: stripe.key,
    COUNTERFOIL_STRIPE_API_BASE: stripe.origin,
  });
  assert.deepEqual(stripe.charges, [], 'nothing was charged');
  assert.equal((await service.get(`${path}/${id}`)).json.body.status, 'declined', resolved.output);
});

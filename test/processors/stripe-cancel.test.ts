import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { CanceledCharge } from '../../src/processors/processor.ts';
import { stripeProcessor } from '../../src/processors/stripe/stripe.ts';
import { openStripe } from '../support/stripe/adapter.ts';

function canceledNow(fields: Partial<CanceledCharge> = {}): CanceledCharge {
  const now = Date.now();
  return {
    paymentId: 'pay_0190a1b2c3d4e5f60718293a4b5c6d7e',
    processorKey: 'cf_0123456789',
    silentMs: -29_000,
    currency: 'EUR',
    requestedFrom: now - 1_000,
    requestedUntil: now + 30_000,
    timeoutMs: 5_000,
    ...fields,
  };
}

/** A Stripe that is processing a charge: the key is in use, and the charge is not in its records yet. */
async function workingStripe(t: TestContext, status: number, error: object) {
  const server = createServer((request, response) => {
    const isCreation = request.method === 'POST';
    const list = { object: 'list', data: [], has_more: false, url: request.url };
    request.resume();
    response.writeHead(isCreation ? status : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isCreation ? { error } : list));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const apiBase = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return stripeProcessor({ key: 'sk_test_scripted', apiBase, webhookSecrets: [] });
}

test('stripe: a charge whose key is used, and which is not in the records yet, is not reported as canceled', async (t) => {
  const processor = await workingStripe(t, 400, { type: 'idempotency_error' });
  assert.equal((await processor.cancelCharge(canceledNow())).kind, 'unknown');
});

test('stripe: a charge is canceled whatever its amount, even one that Stripe would not accept', async (t) => {
  // Stripe has no fractions of an ariary; the process died before Stripe rejected the amount.
  const { processor } = await openStripe(t);
  const outcome = await processor.cancelCharge(canceledNow({ currency: 'MGA' }));
  assert.deepEqual(outcome, { kind: 'canceled' });
});

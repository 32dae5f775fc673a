import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refundAttemptsStoredMax, refundsPerPaymentMax } from '../../src/payments/limits.ts';
import { startTestService } from '../support/service.ts';

test('refunds that the processor rejected do not let a payment’s record grow without bound', async (t) => {
  const service = await startTestService(t);
  const request = { amount: 2_000, currency: 'EUR', token: 'tok_refund_rejected' };
  const paid = await service.post('/stage/payment/simulated/charge', request);
  const at = paid.headers.get('location') ?? '';
  const max = refundsPerPaymentMax + refundAttemptsStoredMax;
  for (let tries = 0; tries < max + 30; tries++) {
    await service.post(`${at}/refund`, { amount: 100 }, { 'idempotency-key': `refund-${tries}` });
  }
  const { refunds } = (await service.get(at)).json.body;
  assert.ok(refunds.length <= max, `the record has ${refunds.length} refunds`);
});

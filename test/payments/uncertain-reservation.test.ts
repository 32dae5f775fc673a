import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audited } from '../../src/audit/audit.ts';
import { ServiceError } from '../../src/errors.ts';
import { findPayment } from '../../src/payments/payment-store.ts';
import { Payments } from '../../src/payments/payments.ts';
import { refundPayment } from '../../src/payments/refund/create.ts';
import { CommitUnknown } from '../../src/storage/engine.ts';
import { contextOver, created } from '../support/payments/context-over.ts';

const routes = {
  ticket: { unit: 'minor', on_success: { table: 'sold', id: 'metadata.seat', name: 'payment_id' } },
  charge: { unit: 'minor' },
} as const;
const sold = (id: string, value: string) => created('sold', id, value);

for (const [what, fails, expected] of [
  ['can be undone', false, 'item_exists'],
  ['cannot be undone', true, 504],
] as const) {
  test(`responds ${expected} to a payment whose item another writer takes, and whose reservation ${what}`, async (t) => {
    let commits = 0;
    const { context, ledger } = await contextOver(t, routes, (store) => ({
      commit: async (writes) => {
        // On a busy machine heartbeats are committed in between.
        if (!writes.some(({ space }) => space === 'service:payments')) return store.commit(writes);
        commits++;
        if (commits === 2 && fails) throw new ServiceError('unavailable');
        const conflict = await store.commit(writes);
        if (commits === 1) await store.commit([sold('seat-1', 'by hand')]);
        return conflict;
      },
    }));
    const request = { amount: 100, currency: 'EUR', token: 'tok_paid', metadata: { seat: 'seat-1' } };
    const taking = new Payments(context).charge({ ...request, ...placeOf('ticket') }).then(
      ({ status }) => status,
      ({ code }: ServiceError) => code,
    );
    assert.equal(await taking, expected);
    assert.equal(ledger.charges.length, 0, 'the processor was not called');
  });
}

for (const [what, idempotencyKey, retryable] of [
  ['with a key is', 'refund-1', true],
  ['without a key is not', undefined, false],
] as const) {
  test(`responds that a refund is unknown when its reservation is; one ${what} to be sent again`, async (t) => {
    let isLost = false;
    const { context, ledger } = await contextOver(t, routes, (store) => ({
      commit: async (writes) => {
        const conflict = await store.commit(writes);
        if (isLost) throw new CommitUnknown('the reply was lost');
        return conflict;
      },
    }));
    const place = placeOf('charge');
    const paid = await new Payments(context).charge({
      amount: 100,
      currency: 'EUR',
      token: 'tok_paid',
      ...place,
    });
    isLost = true;
    const { status, text, refundId } = await refundPayment(context, {
      ...place,
      paymentId: paid.paymentId,
      amount: undefined,
      idempotencyKey,
      audit: (refund) => audited({ what: 'payment.refunded', on: paid.paymentId, refund, by: 'open' }),
    });
    const { error } = JSON.parse(text).body;
    assert.deepEqual([status, error.code, error.retryable], [504, 'payment_outcome_unknown', retryable]);
    const stored = await findPayment(context, paid.paymentId);
    assert.deepEqual(
      stored?.refunds?.map(({ id, state }) => [id, state]),
      [[refundId, 'calling']],
      'recovery finds it',
    );
    assert.equal(ledger.refunds.length, 0, 'the processor was not called');
  });
}

function placeOf(route: string) {
  return {
    processor: 'simulated',
    route,
    idempotencyKey: 'k',
    needsPrice: false,
    caller: '',
    requestId: 'r',
  };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLog } from '../../src/log.ts';
import { noMetrics } from '../../src/metrics.ts';
import { settleCharge } from '../../src/payments/charge/settle.ts';
import { openId, openSpace } from '../../src/payments/ownership/marker.ts';
import { type Payment, paymentsSpace } from '../../src/payments/payment.ts';
import { changePayment } from '../../src/payments/payment-store.ts';
import type { ChargeOutcome } from '../../src/processors/processor.ts';
import { fixedKeys, masterKey } from '../../src/secrets/master-keys.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { uncounted } from '../support/payments/uncounted.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const payment: Payment = {
  id: 'pay_019e2b6c5f803d1f5a7c',
  state: 'requires_action',
  processor: 'stripe',
  route: 'charge',
  amount: 1_050,
  currency: 'EUR',
  tokenDigest: 'digest',
  processorKey: 'cf_key',
  attempts: 1,
  requestId: 'req_1',
  createdAt: new Date().toISOString(),
  retryUntil: Date.now(),
  returnUrl: 'https://shop.example/paid',
  authentication: { attemptId: 'pi_1', until: Date.now() + 60_000 },
};

const declined: ChargeOutcome = { kind: 'declined', declineCode: 'lost_card', authenticationRequired: false };
const open: readonly ChargeOutcome[] = [
  declined,
  { kind: 'rejected', message: 'no', detail: 'no' },
  { kind: 'not_attempted', detail: 'no' },
  { kind: 'unknown', detail: 'no' },
];

test('only a success or a cancellation ends an attempt that the cardholder’s page may still confirm', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  const context = {
    engine,
    log: openLog('silent'),
    metrics: noMetrics,
    now: Date.now,
    sealer: new Sealer(fixedKeys([masterKey(Buffer.alloc(32, 7))])),
    authenticationMs: 60_000,
    triedCards: uncounted,
    itemWrite: () => {
      throw new Error('no item');
    },
  };
  const { id } = payment;
  const marker = JSON.stringify({ processor: 'stripe', dueAt: 0 });
  await engine.commit([
    { kind: 'create', space: paymentsSpace, id, value: JSON.stringify(payment), makeSpace: true },
    { kind: 'create', space: openSpace, id: openId(id), value: marker, makeSpace: true },
  ]);
  for (const outcome of open) {
    for (const basis of ['reply', 'proof'] as const)
      assert.equal(
        (await settleCharge(context, id, { outcome, basis })).state,
        'requires_action',
        outcome.kind,
      );
  }
  // Nor does an event end one that nobody could look up for days.
  const { payment: waiting } = await changePayment(context, id, (before) => ({
    payment: { ...before, state: 'needs_review' },
  }));
  const reviewed = await settleCharge(
    context,
    id,
    { outcome: declined, basis: 'proof', eventId: 'evt_1' },
    waiting,
  );
  assert.equal(reviewed.state, 'needs_review');
  const canceled = { kind: 'canceled', declineCode: 'lost_card' } as const;
  assert.equal((await settleCharge(context, id, { outcome: canceled, basis: 'proof' })).state, 'declined');
});

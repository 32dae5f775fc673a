import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLog } from '../../src/log.ts';
import { finalOutcome } from '../../src/payments/charge/outcome.ts';
import { settleCharge } from '../../src/payments/charge/settle.ts';
import { openId, openSpace } from '../../src/payments/ownership/marker.ts';
import { type Payment, paymentsSpace } from '../../src/payments/payment.ts';
import { changePayment } from '../../src/payments/payment-store.ts';
import type { ChargeOutcome } from '../../src/processors/processor.ts';
import { fixedKeys, masterKey } from '../../src/secrets/key-file.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { noMetrics } from '../../src/telemetry.ts';
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
    cardTesting: uncounted,
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

const openDecline: ChargeOutcome = { ...declined, openAttemptId: 'pi_1' };
const { authentication: _none, ...unchallenged } = payment;
const called = { ...unchallenged, state: 'calling' } as const;

for (const state of ['calling', 'in_doubt', 'requires_action'] as const) {
  test(`a decline in ${state} whose attempt is open does not end the charge, whatever reports it`, () => {
    const before = { ...called, state };
    for (const basis of ['reply', 'proof'] as const)
      assert.equal(finalOutcome(before, { outcome: openDecline, basis }).kind, 'unknown', basis);
    // Without a return URL no page can confirm the attempt again.
    const unreachable = { ...before, returnUrl: undefined } as unknown as Payment;
    assert.equal(finalOutcome(unreachable, { outcome: openDecline, basis: 'proof' }).kind, 'declined');
  });
}

test('a rejection counts as the reply to the only request, or as proof', () => {
  const inDoubt = { ...called, state: 'in_doubt' } as const;
  const rejected = open[1] as ChargeOutcome;
  const notAttempted = open[2] as ChargeOutcome;
  for (const outcome of [declined, rejected, notAttempted])
    assert.equal(finalOutcome(called, { outcome, basis: 'reply' }).kind, outcome.kind);
  // Another process may have requested the charge again.
  for (const outcome of [declined, rejected, notAttempted])
    assert.equal(finalOutcome(inDoubt, { outcome, basis: 'reply' }).kind, 'unknown', outcome.kind);
  for (const outcome of [declined, rejected])
    assert.equal(finalOutcome(inDoubt, { outcome, basis: 'proof' }).kind, outcome.kind);
  assert.equal(finalOutcome(inDoubt, { outcome: notAttempted, basis: 'proof' }).kind, 'unknown');
});

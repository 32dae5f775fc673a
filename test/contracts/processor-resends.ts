import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { RefundRequest } from '../../src/processors/processor.ts';
import { chargeOf } from './processor.ts';
import type { RefundFixture } from './processor-refunds.ts';

/**
 * Tokens whose charge or refund meets two faults until `repair`: the reply to the first request is lost, and every
 * later request with the same key is rejected.
 */
export interface ResendFixture extends RefundFixture {
  readonly lostThenRejected: {
    readonly charges: readonly string[];
    readonly refunds: readonly string[];
  };
  /** The number of requests for a charge, and for a refund, that reached the processor, rejected ones included. */
  arrivals(): { readonly charges: number; readonly refunds: number };
}

/**
 * The contract of `src/processors/processor.ts`: one call is one request. A library that retries by itself
 * hides a lost reply behind the rejection of the second request, and then a charge that was made is reported as not
 * made.
 */
export function resendContract(name: string, open: (t: TestContext) => Promise<ResendFixture>): void {
  const promise = (text: string, hold: (fixture: ResendFixture) => Promise<void>) =>
    test(`${name}: ${text}`, async (t) => hold(await open(t)));

  promise('sends one request for one charge, and one for one refund', async (fixture) => {
    const { processor, arrivals, tokens } = fixture;
    const charged = await processor.charge(chargeOf(tokens.paid));
    assert.ok(charged.kind === 'succeeded', charged.kind);
    assert.deepEqual(arrivals(), { charges: 1, refunds: 0 });
    await processor.refund(refundOf(charged.chargeId));
    assert.deepEqual(arrivals(), { charges: 1, refunds: 1 });
  });

  promise('sends a charge whose reply is lost once, and reports its outcome as unknown', async (fixture) => {
    const { processor, charges, arrivals, repair, lostThenRejected } = fixture;
    const wrong: string[] = [];
    const asked = lostThenRejected.charges.map((token) => chargeOf(token));
    for (const request of asked) {
      const before = arrivals().charges;
      const { kind } = await processor.charge(request);
      const sent = arrivals().charges - before;
      if (kind !== 'unknown' || sent !== 1) wrong.push(`${request.token}: ${sent} requests, ${kind}`);
    }
    assert.deepEqual(wrong, []);
    repair();
    for (const request of asked) assert.equal((await processor.charge(request)).kind, 'succeeded');
    assert.equal(charges().length, asked.length);
  });

  promise('sends a refund whose reply is lost once, and reports its outcome as unknown', async (fixture) => {
    const { processor, refunds, arrivals, repair, lostThenRejected } = fixture;
    const wrong: string[] = [];
    const asked: RefundRequest[] = [];
    for (const token of lostThenRejected.refunds) {
      const charged = await processor.charge(chargeOf(token));
      assert.ok(charged.kind === 'succeeded', `${token}: ${charged.kind}`);
      const request = refundOf(charged.chargeId);
      asked.push(request);
      const before = arrivals().refunds;
      const { kind } = await processor.refund(request);
      const sent = arrivals().refunds - before;
      if (kind !== 'unknown' || sent !== 1) wrong.push(`${token}: ${sent} requests, ${kind}`);
    }
    assert.deepEqual(wrong, []);
    repair();
    for (const request of asked) assert.ok('processorRefundId' in (await processor.refund(request)));
    assert.equal(refunds().length, asked.length);
  });
}

function refundOf(chargeId: string): RefundRequest {
  return {
    refundId: `ref_${randomBytes(16).toString('hex')}`,
    paymentId: `pay_${randomBytes(16).toString('hex')}`,
    chargeId,
    processorKey: `cf_${randomBytes(20).toString('hex')}`,
    amount: 500,
    currency: 'EUR',
    timeoutMs: 5_000,
  };
}

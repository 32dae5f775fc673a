import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { ProcessorCharge, RefundRequest, SoughtCharge } from '../../src/processors/processor.ts';
import { chargeOf, type ProcessorFixture } from './processor.ts';

export interface RefundFixture extends ProcessorFixture {
  /** The refunds that the processor on the other side has made. */
  refunds(): readonly RefundMade[];
  /** A token whose charge is made, and whose reply to a refund is lost until `repair`. */
  readonly refundReplyLost: string;
}

export interface RefundMade {
  readonly processorRefundId: string;
  readonly chargeId: string;
  readonly amount: number;
}

const timeoutMs = 5_000;

/** The contract of `src/processors/processor.ts`: look-ups, refunds and the processor's records. */
export function refundContract(name: string, open: (t: TestContext) => Promise<RefundFixture>): void {
  const promise = (text: string, hold: (fixture: RefundFixture) => Promise<void>) =>
    test(`${name}: ${text}`, async (t) => hold(await open(t)));

  promise('finds the charge of a payment, also when its reply was lost', async (fixture) => {
    const { processor, charges, tokens } = fixture;
    const request = chargeOf(tokens.replyLost);
    assert.equal((await processor.charge(request)).kind, 'unknown');
    await processor.charge(chargeOf(tokens.paid));
    const found = await processor.findCharge(soughtOf(request.paymentId));
    const made = charges().find(({ paymentId }) => paymentId === request.paymentId);
    assert.partialDeepStrictEqual(found, { kind: 'succeeded', chargeId: made?.chargeId });
    assert.equal(charges().length, 2, 'a look-up charges nothing');
  });

  promise('reports a charge that was never made as absent', async ({ processor, charges, tokens }) => {
    await processor.charge(chargeOf(tokens.paid));
    const found = await processor.findCharge(soughtOf(chargeOf(tokens.paid).paymentId));
    assert.deepEqual(found, { kind: 'absent' });
    assert.equal(charges().length, 1);
  });

  promise('returns the payment of a charge', async (fixture) => {
    const { processor } = fixture;
    const { chargeId, paymentId } = await chargeFor(fixture, 2_000);
    assert.partialDeepStrictEqual(await processor.findOwner(chargeId, timeoutMs), {
      kind: 'owner',
      paymentId,
      isPaid: true,
    });
    assert.deepEqual(await processor.findOwner('ch_unknown', timeoutMs), {
      kind: 'owner',
      paymentId: undefined,
      isPaid: false,
    });
  });

  promise('refunds a part and then the rest, and returns the ids', async (fixture) => {
    const { processor, refunds } = fixture;
    const charged = await chargeFor(fixture, 2_000);
    const part = await processor.refund(refundOf(charged, 500));
    const rest = await processor.refund(refundOf(charged, 1_500));
    assert.ok('processorRefundId' in part && 'processorRefundId' in rest);
    for (const { kind } of [part, rest]) assert.ok(['succeeded', 'pending'].includes(kind), kind);
    assert.partialDeepStrictEqual(
      refunds().map(({ processorRefundId, chargeId, amount }) => [processorRefundId, chargeId, amount]),
      [
        [part.processorRefundId, charged.chargeId, 500],
        [rest.processorRefundId, charged.chargeId, 1_500],
      ],
    );
  });

  promise('refunds once for repeated requests with the same key', async (fixture) => {
    const { processor, refunds } = fixture;
    const request = refundOf(await chargeFor(fixture, 2_000), 500);
    const first = await processor.refund(request);
    for (const _again of [1, 2, 3]) assert.deepEqual(await processor.refund(request), first);
    assert.equal(refunds().length, 1);
  });

  promise('rejects a refund of more than was charged', async (fixture) => {
    const { processor, refunds } = fixture;
    const outcome = await processor.refund(refundOf(await chargeFor(fixture, 2_000), 2_001));
    assert.equal(outcome.kind, 'rejected');
    assert.deepEqual(refunds(), []);
  });

  promise(
    'reports a refund whose reply was lost as unknown, finds it, and gets its outcome with the same key',
    async (fixture) => {
      const { processor, refunds, repair, refundReplyLost } = fixture;
      const charged = await chargeFor(fixture, 2_000, refundReplyLost);
      const request = refundOf(charged, 700);
      assert.equal((await processor.refund(request)).kind, 'unknown');
      repair();
      const sought = { refundId: request.refundId, chargeId: charged.chargeId, timeoutMs };
      const found = await processor.findRefund(sought);
      assert.ok('processorRefundId' in found, found.kind);
      assert.equal(refunds().length, 1);
      assert.equal(found.processorRefundId, refunds()[0]?.processorRefundId);
      assert.deepEqual(await processor.refund(request), found);
      assert.equal(refunds().length, 1);
    },
  );

  promise('reports a refund that was never made as absent', async (fixture) => {
    const { processor } = fixture;
    const charged = await chargeFor(fixture, 2_000);
    await processor.refund(refundOf(charged, 500));
    const { refundId } = refundOf(charged, 500);
    const found = await processor.findRefund({ refundId, chargeId: charged.chargeId, timeoutMs });
    assert.deepEqual(found, { kind: 'absent' });
  });

  promise('lists what was charged and refunded, and nothing that was declined', async (fixture) => {
    const { processor, tokens } = fixture;
    const first = await chargeFor(fixture, 2_000);
    const second = await chargeFor(fixture, 3_000);
    await processor.charge(chargeOf(tokens.declined));
    await processor.refund(refundOf(first, 500));
    const listed: ProcessorCharge[] = [];
    const now = Date.now();
    for await (const charge of processor.charges({ from: now - 60_000, until: now + 60_000 }))
      listed.push(charge);
    const byAmount = (a: ProcessorCharge, b: ProcessorCharge) => a.amount - b.amount;
    assert.deepEqual(listed.sort(byAmount), [
      { ...first, amount: 2_000, amountRefunded: 500 },
      { ...second, amount: 3_000, amountRefunded: 0 },
    ]);
    for await (const charge of processor.charges({ from: now - 120_000, until: now - 60_000 }))
      assert.fail(`${charge.chargeId} was made later`);
  });
}

interface Charged {
  readonly chargeId: string;
  readonly paymentId: string;
  readonly currency: string;
}

async function chargeFor(
  { processor, tokens }: RefundFixture,
  amount: number,
  token = tokens.paid,
): Promise<Charged> {
  const request = chargeOf(token, { amount });
  const outcome = await processor.charge(request);
  assert.ok(outcome.kind === 'succeeded', outcome.kind);
  return { chargeId: outcome.chargeId, paymentId: request.paymentId, currency: request.currency };
}

function refundOf({ chargeId, paymentId, currency }: Charged, amount: number): RefundRequest {
  return {
    refundId: `ref_${randomBytes(16).toString('hex')}`,
    paymentId,
    chargeId,
    processorKey: `cf_${randomBytes(20).toString('hex')}`,
    amount,
    currency,
    timeoutMs,
  };
}

function soughtOf(paymentId: string): SoughtCharge {
  return { paymentId, requestedFrom: Date.now() - 60_000, requestedUntil: Date.now() + 60_000, timeoutMs };
}

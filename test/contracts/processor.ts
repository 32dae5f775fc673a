import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { ChargeRequest, ConnectedProcessor } from '../../src/processors/processor.ts';
import { overrunOf } from '../support/busy-machine.ts';

/** One adapter, and the processor behind it, for the suite that every adapter of the port must pass. */
export interface ProcessorFixture {
  readonly processor: ConnectedProcessor;
  /** The charges that the processor on the other side has made. */
  charges(): readonly ChargeMade[];
  /** From now on replies arrive in time. */
  repair(): void;
  readonly tokens: {
    readonly paid: string;
    /** Declined as `insufficient_funds`. */
    readonly declined: string;
    readonly authenticationRequired: string;
    readonly unknown: string;
    /** Rejected before anything is charged. */
    readonly turnedAway: string;
    /** Charged, and the reply is lost until `repair`. */
    readonly replyLost: string;
    /** Charged, and without a reply within a second until `repair`. */
    readonly neverReplies: string;
  };
}

export interface ChargeMade {
  readonly chargeId: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
}

/** The contract of `src/processors/processor.ts`. */
export function processorContract(name: string, open: (t: TestContext) => Promise<ProcessorFixture>): void {
  const promise = (text: string, hold: (fixture: ProcessorFixture) => Promise<void>) =>
    test(`${name}: ${text}`, async (t) => hold(await open(t)));

  promise('returns the id of the charge that it made', async ({ processor, charges, tokens }) => {
    const request = chargeOf(tokens.paid, { amount: 1_050, currency: 'EUR' });
    const outcome = await processor.charge(request);
    const [made] = charges();
    assert.ok(made !== undefined && charges().length === 1);
    assert.partialDeepStrictEqual(outcome, { kind: 'succeeded', chargeId: made.chargeId });
    assert.equal(made.paymentId, request.paymentId);
    assert.equal(made.amount, 1_050);
    assert.equal(made.currency.toUpperCase(), 'EUR');
  });

  promise('charges once for repeated requests with the same key', async ({ processor, charges, tokens }) => {
    const request = chargeOf(tokens.paid);
    const first = await processor.charge(request);
    for (const _again of [1, 2, 3]) assert.deepEqual(await processor.charge(request), first);
    assert.partialDeepStrictEqual(
      [first],
      charges().map(({ chargeId }) => ({ kind: 'succeeded', chargeId })),
    );
  });

  promise('charges again under another key', async ({ processor, charges, tokens }) => {
    const first = await processor.charge(chargeOf(tokens.paid));
    const second = await processor.charge(chargeOf(tokens.paid));
    assert.notDeepEqual(second, first);
    assert.equal(charges().length, 2);
  });

  promise('reports a decline with its decline code', async ({ processor, charges, tokens }) => {
    assert.partialDeepStrictEqual(await processor.charge(chargeOf(tokens.declined)), {
      kind: 'declined',
      declineCode: 'insufficient_funds',
      authenticationRequired: false,
    });
    assert.deepEqual(charges(), []);
  });

  promise('reports that the cardholder must authenticate', async ({ processor, charges, tokens }) => {
    assert.partialDeepStrictEqual(await processor.charge(chargeOf(tokens.authenticationRequired)), {
      kind: 'declined',
      declineCode: 'authentication_required',
      authenticationRequired: true,
    });
    assert.deepEqual(charges(), []);
  });

  promise('rejects an unknown token', async ({ processor, charges, tokens }) => {
    const outcome = await processor.charge(chargeOf(tokens.unknown));
    assert.ok(outcome.kind === 'rejected', outcome.kind);
    assert.equal(outcome.param, 'token');
    assert.ok(!outcome.message.includes(tokens.unknown), 'callers and logs get the message');
    assert.deepEqual(charges(), []);
  });

  promise('reports a rejected call as not attempted', async ({ processor, charges, tokens }) => {
    assert.equal((await processor.charge(chargeOf(tokens.turnedAway))).kind, 'not_attempted');
    assert.deepEqual(charges(), []);
  });

  promise(
    'reports a charge whose reply was lost as unknown, and gets its outcome with the same key',
    async (fixture) => {
      const { processor, charges, tokens, repair } = fixture;
      const request = chargeOf(tokens.replyLost);
      assert.equal((await processor.charge(request)).kind, 'unknown');
      repair();
      const second = await processor.charge(request);
      assert.equal(charges().length, 1);
      assert.partialDeepStrictEqual(second, { kind: 'succeeded', chargeId: charges()[0]?.chargeId });
    },
  );

  promise('reports its health without a charge', async ({ processor, charges }) => {
    assert.deepEqual(await processor.check(5_000), { kind: 'well' });
    assert.deepEqual(charges(), []);
  });

  promise('gives up in time on a processor that never responds', async (fixture) => {
    const { processor, charges, tokens, repair } = fixture;
    const request = chargeOf(tokens.neverReplies, { timeoutMs: 200 });
    await givesUpInTime(processor, request);
    repair();
    const second = await processor.charge({ ...request, timeoutMs: 5_000 });
    assert.equal(charges().length, 1);
    assert.partialDeepStrictEqual(second, { kind: 'succeeded', chargeId: charges()[0]?.chargeId });
  });
}

/** Half a second is tolerance: no adapter waits that long on purpose. */
export async function givesUpInTime(processor: ConnectedProcessor, request: ChargeRequest): Promise<void> {
  const call = () => processor.charge(request);
  const { result: outcome, tookMs, overrunMs } = await overrunOf(call, request.timeoutMs);
  assert.equal(outcome.kind, 'unknown');
  assert.ok(tookMs >= request.timeoutMs * 0.9, `gave up after ${tookMs} ms of ${request.timeoutMs}`);
  assert.ok(overrunMs < 500, `gave up after ${tookMs} ms of ${request.timeoutMs}`);
}

export function chargeOf(token: string, fields: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    paymentId: `pay_${randomBytes(16).toString('hex')}`,
    processorKey: `cf_${randomBytes(20).toString('hex')}`,
    tokenKey: `cf_${randomBytes(20).toString('hex')}`,
    amount: 2_000,
    currency: 'EUR',
    token,
    timeoutMs: 5_000,
    ...fields,
  };
}

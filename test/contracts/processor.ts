import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { ChargeRequest, ConnectedProcessor } from '../../src/processors/processor.ts';

/** One adapter, and the processor behind it, for the suite that every adapter of the port must pass. */
export interface ProcessorFixture {
  readonly processor: ConnectedProcessor;
  /** What the processor on the other side has charged. */
  charges(): readonly ChargeMade[];
  /** From now on replies arrive in time. */
  repair(): void;
  readonly tokens: {
    readonly paid: string;
    /** Declined as `insufficient_funds`. */
    readonly declined: string;
    readonly authenticationRequired: string;
    readonly unheardOf: string;
    /** Turned away before anything is charged. */
    readonly turnedAway: string;
    /** Charged, and the reply is lost until `repair`. */
    readonly replyLost: string;
    /** Charged, and not answered within a second until `repair`. */
    readonly neverAnswers: string;
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

  promise('tells the id of the charge that it made', async ({ processor, charges, tokens }) => {
    const request = chargeOf(tokens.paid, { amount: 1_050, currency: 'EUR' });
    const outcome = await processor.charge(request);
    const [made] = charges();
    assert.ok(made !== undefined && charges().length === 1);
    assert.deepEqual(outcome, { kind: 'succeeded', chargeId: made.chargeId });
    assert.equal(made.paymentId, request.paymentId);
    assert.equal(made.amount, 1_050);
    assert.equal(made.currency.toUpperCase(), 'EUR');
  });

  promise('charges once however often the same key asks', async ({ processor, charges, tokens }) => {
    const request = chargeOf(tokens.paid);
    const first = await processor.charge(request);
    for (const _again of [1, 2, 3]) assert.deepEqual(await processor.charge(request), first);
    assert.deepEqual(
      charges().map(({ chargeId }) => ({ kind: 'succeeded', chargeId })),
      [first],
    );
  });

  promise('charges again under another key', async ({ processor, charges, tokens }) => {
    const first = await processor.charge(chargeOf(tokens.paid));
    const second = await processor.charge(chargeOf(tokens.paid));
    assert.notDeepEqual(second, first);
    assert.equal(charges().length, 2);
  });

  promise('tells a decline by its decline code', async ({ processor, charges, tokens }) => {
    assert.deepEqual(await processor.charge(chargeOf(tokens.declined)), {
      kind: 'declined',
      declineCode: 'insufficient_funds',
      authenticationRequired: false,
    });
    assert.deepEqual(charges(), []);
  });

  promise('tells that the cardholder must authenticate', async ({ processor, charges, tokens }) => {
    assert.deepEqual(await processor.charge(chargeOf(tokens.authenticationRequired)), {
      kind: 'declined',
      declineCode: 'authentication_required',
      authenticationRequired: true,
    });
    assert.deepEqual(charges(), []);
  });

  promise('refuses a token that nobody has heard of', async ({ processor, charges, tokens }) => {
    const outcome = await processor.charge(chargeOf(tokens.unheardOf));
    assert.ok(outcome.kind === 'refused', outcome.kind);
    assert.equal(outcome.param, 'token');
    assert.ok(
      !outcome.message.includes(tokens.unheardOf),
      'the message is shown to callers and goes to logs',
    );
    assert.deepEqual(charges(), []);
  });

  promise('tells that nothing was asked when it is turned away', async ({ processor, charges, tokens }) => {
    assert.equal((await processor.charge(chargeOf(tokens.turnedAway))).kind, 'not_attempted');
    assert.deepEqual(charges(), []);
  });

  promise('does not know what a lost reply said, and learns it by the same key', async (fixture) => {
    const { processor, charges, tokens, repair } = fixture;
    const request = chargeOf(tokens.replyLost);
    assert.equal((await processor.charge(request)).kind, 'unknown');
    repair();
    const second = await processor.charge(request);
    assert.equal(charges().length, 1);
    assert.deepEqual(second, { kind: 'succeeded', chargeId: charges()[0]?.chargeId });
  });

  promise('says that it is well, and charges nobody for it', async ({ processor, charges }) => {
    assert.deepEqual(await processor.check(5_000), { kind: 'well' });
    assert.deepEqual(charges(), []);
  });

  promise('gives up in time on a processor that never answers', async (fixture) => {
    const { processor, charges, tokens, repair } = fixture;
    const request = chargeOf(tokens.neverAnswers, { timeoutMs: 200 });
    await givesUpInTime(processor, request);
    repair();
    const second = await processor.charge({ ...request, timeoutMs: 5_000 });
    assert.equal(charges().length, 1);
    assert.deepEqual(second, { kind: 'succeeded', chargeId: charges()[0]?.chargeId });
  });
}

/** Half a second is for a busy machine: no adapter waits that long on purpose. */
export async function givesUpInTime(processor: ConnectedProcessor, request: ChargeRequest): Promise<void> {
  const startedAt = performance.now();
  const outcome = await processor.charge(request);
  const tookMs = performance.now() - startedAt;
  assert.equal(outcome.kind, 'unknown');
  assert.ok(tookMs >= request.timeoutMs * 0.9, `gave up after ${tookMs} ms of ${request.timeoutMs}`);
  assert.ok(tookMs < request.timeoutMs + 500, `gave up after ${tookMs} ms of ${request.timeoutMs}`);
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

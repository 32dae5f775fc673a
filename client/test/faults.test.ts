import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { startLedger } from '../../test/support/ledger/ledger-process.ts';
import { between, pick, randomFrom, seedOf } from '../../test/support/random.ts';
import { startTestService } from '../../test/support/service.ts';
import { Counterfoil, CounterfoilError, type PayResult, type RefundResult } from '../src/index.ts';
import { faults, startFaultyProxy } from './support/faulty-proxy.ts';

const count = process.env.LONG === '1' ? 2_000 : 60;
const processor = 'simulated';
const tokens = ['tok_paid', 'tok_paid', 'tok_lost_reply', 'tok_insufficient_funds', 'tok_processor_error'];

test(`loses no outcome and charges nobody twice in ${count} payments over a faulty network`, async (t) => {
  const random = randomFrom(seedOf(t));
  const ledger = new MemoryLedger();
  const { origin: ledgerOrigin } = await startLedger(t, ledger);
  const env = { COUNTERFOIL_SIMULATED_LEDGER: ledgerOrigin };
  const { origin } = await startTestService(t, { env });
  const proxy = await startFaultyProxy(t, origin);
  const client = new Counterfoil({ url: proxy.url });
  proxy.next = () => (random() < 0.5 ? 'pass' : pick(random, faults));

  const payments = Array.from({ length: count }, (_, index) => ({
    request: { processor, amount: 1_000 + index, currency: 'EUR', token: pick(random, tokens) },
    // Some callers give up or abort at any moment.
    deadlineMs: random() < 0.3 ? between(random, 1, 1_500) : 6_000,
    abortMs: random() < 0.2 ? between(random, 0, 1_500) : undefined,
  }));
  const outcomes = await Promise.all(
    payments.map(async ({ request, deadlineMs, abortMs }) => {
      const controller = new AbortController();
      if (abortMs !== undefined) setTimeout(() => controller.abort(), abortMs);
      try {
        return await client.pay({ ...request, deadlineMs, signal: controller.signal });
      } catch (error) {
        assert.ok(error instanceof CounterfoilError, String(error));
        return error;
      }
    }),
  );
  proxy.next = () => 'pass';
  await proxy.quiet();
  const settled = await Promise.all(
    outcomes.map((outcome, index): Promise<PayResult | CounterfoilError> | PayResult | CounterfoilError => {
      const isUnknown = !(outcome instanceof CounterfoilError) && outcome.status === 'unknown';
      const request = payments[index]?.request;
      if (!isUnknown || request === undefined) return outcome;
      const { idempotencyKey } = outcome;
      return client.pay({ ...request, idempotencyKey }).catch((error: CounterfoilError) => error);
    }),
  );
  const kinds = new Map<string, number>();
  for (const [index, outcome] of settled.entries()) {
    const { amount, token } = payments[index]?.request ?? assert.fail();
    const charges = ledger.charges.filter((charge) => charge.amount === amount);
    const kind: string = 'code' in outcome ? outcome.code : outcome.status;
    const shown = `${token}: ${kind}, before: ${JSON.stringify(outcomes[index])}`;
    assert.notEqual(kind, 'unknown', shown);
    assert.equal(charges.length, kind === 'succeeded' ? 1 : 0, shown);
    if (!(outcome instanceof CounterfoilError) && outcome.status === 'succeeded')
      assert.equal(outcome.chargeId, charges[0]?.chargeId);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const unknowns = outcomes.filter((outcome) => 'status' in outcome && outcome.status === 'unknown').length;
  t.diagnostic(`${unknowns} unknown at first; then ${JSON.stringify(Object.fromEntries(kinds))}`);
  t.diagnostic(`faults: ${JSON.stringify(Object.fromEntries(proxy.counts))}`);
  assert.ok(proxy.counts.size === faults.length, 'every fault has happened');
});

test('refunds nothing twice over a faulty network', async (t) => {
  const random = randomFrom(seedOf(t));
  const ledger = new MemoryLedger();
  const { origin: ledgerOrigin } = await startLedger(t, ledger);
  const { origin } = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: ledgerOrigin } });
  const proxy = await startFaultyProxy(t, origin);
  const client = new Counterfoil({ url: proxy.url });
  await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const token = index % 3 === 0 ? 'tok_refund_lost_reply' : 'tok_paid';
      const paid = await client.pay({ processor, amount: 1_000, currency: 'EUR', token });
      assert.ok(paid.status === 'succeeded');
      proxy.next = () => (random() < 0.5 ? 'pass' : pick(random, faults));
      const request = { processor, paymentId: paid.paymentId, amount: 300 };
      let result: RefundResult = await client.refund({
        ...request,
        deadlineMs: between(random, 100, 10_000),
      });
      while (result.status === 'unknown')
        result = await client.refund({ ...request, idempotencyKey: result.idempotencyKey });
      assert.equal(result.status, 'succeeded');
      await proxy.quiet();
      const refunds = ledger.refunds.filter(({ chargeId }) => chargeId === paid.chargeId);
      assert.equal(refunds.length, 1);
    }),
  );
});

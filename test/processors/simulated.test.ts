import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectedProcessor } from '../../src/processors/processor.ts';
import {
  decliningTokens,
  type LedgerReply,
  type LedgerRequest,
  MemoryLedger,
  RemoteLedger,
  slowReplyMs,
} from '../../src/processors/simulated/ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import { chargeOf, processorContract } from '../contracts/processor.ts';
import { type RefundFixture, refundContract } from '../contracts/processor-refunds.ts';
import { ledgerFixture } from '../support/ledger/adapter.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';

/** The reply to a charge with this token never comes. */
const neverReplies = 'tok_visa';

/** Makes every charge, and loses the replies to those with `neverReplies` until it is repaired. */
class SilentLedger extends MemoryLedger {
  repaired = false;

  override async charge(request: LedgerRequest): Promise<LedgerReply> {
    const reply = await super.charge(request);
    if (request.token === neverReplies && !this.repaired) await new Promise(() => undefined);
    return reply;
  }
}

function fixture(ledger: SilentLedger, processor: ConnectedProcessor): RefundFixture {
  const repair = () => {
    ledger.repaired = true;
  };
  return ledgerFixture(ledger, { processor, repair, neverReplies });
}

for (const contract of [processorContract, refundContract]) {
  contract('simulated', async () => {
    const ledger = new SilentLedger();
    return fixture(ledger, simulatedProcessor(ledger));
  });

  contract('simulated, with its ledger over HTTP', async (t) => {
    const ledger = new SilentLedger();
    const { origin } = await startLedger(t, ledger);
    return fixture(ledger, simulatedProcessor(new RemoteLedger(origin)));
  });
}

test('simulated: every declining token returns its own decline code', async () => {
  const processor = simulatedProcessor(new MemoryLedger());
  for (const declineCode of decliningTokens) {
    const outcome = await processor.charge(chargeOf(`tok_${declineCode}`));
    assert.deepEqual(outcome, {
      kind: 'declined',
      declineCode,
      authenticationRequired: declineCode === 'authentication_required',
    });
  }
});

test('simulated: charge ids show that no money moved', async () => {
  const outcome = await simulatedProcessor(new MemoryLedger()).charge(chargeOf('tok_visa'));
  assert.ok(outcome.kind === 'succeeded');
  assert.match(outcome.chargeId, /^ch_simulated_[0-9a-f]{24}$/);
});

test('simulated: no token is single-use', () => {
  const processor = simulatedProcessor(new MemoryLedger());
  for (const token of ['tok_paid', 'tok_1NZkQ82eZvKYlo2C0aBcDeFg'])
    assert.equal(processor.isSingleUse(token), false);
});

test('simulated: a charge is not attempted when the ledger is unreachable', async (t) => {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const unreachable = new RemoteLedger(origin.replace(/:\d+$/, ':1'));
  assert.equal((await simulatedProcessor(unreachable).charge(chargeOf('tok_paid'))).kind, 'not_attempted');
  assert.deepEqual(ledger.charges, []);
});

test('simulated: responds to tok_slow late, and waits no longer than its timeout', async () => {
  const ledger = new MemoryLedger();
  const request = chargeOf('tok_slow', { timeoutMs: 50 });
  const startedAt = performance.now();
  const late = ledger.charge({ ...request, key: 'another' });
  assert.equal((await simulatedProcessor(ledger).charge(request)).kind, 'unknown');
  assert.ok(performance.now() - startedAt < slowReplyMs / 2);
  assert.equal((await late).kind, 'paid');
  assert.ok(performance.now() - startedAt >= slowReplyMs * 0.9);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ConnectedProcessor } from '../../src/processors/processor.ts';
import { FileLedger } from '../../src/processors/simulated/file-ledger.ts';
import type { LedgerReply, LedgerRequest } from '../../src/processors/simulated/ledger.ts';
import { decliningTokens, MemoryLedger, slowReplyMs } from '../../src/processors/simulated/memory-ledger.ts';
import { RemoteLedger } from '../../src/processors/simulated/remote-ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import { chargeOf, processorContract } from '../contracts/processor.ts';
import { type RefundFixture, refundContract } from '../contracts/processor-refunds.ts';
import { ledgerFixture } from '../support/ledger/adapter.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { newDataFolder } from '../support/service.ts';

/** The reply to a charge with this token never comes. */
const neverReplies = 'tok_visa';

/** A ledger that loses the replies to charges with `neverReplies` until it is repaired. */
function silent<Ledger extends MemoryLedger>(ledger: Ledger) {
  const charge = ledger.charge.bind(ledger);
  let isRepaired = false;
  ledger.charge = async (request: LedgerRequest): Promise<LedgerReply> => {
    const reply = await charge(request);
    if (request.token === neverReplies && !isRepaired) await new Promise(() => undefined);
    return reply;
  };
  const repair = () => {
    isRepaired = true;
  };
  return { ledger, repair };
}

function fixture(
  { ledger, repair }: ReturnType<typeof silent>,
  processor: ConnectedProcessor,
): RefundFixture {
  return ledgerFixture(ledger, { processor, repair, neverReplies });
}

for (const contract of [processorContract, refundContract]) {
  contract('simulated', async () => {
    const opened = silent(new MemoryLedger());
    return fixture(opened, simulatedProcessor(opened.ledger));
  });

  contract('simulated, with its ledger in a file', async (t) => {
    const opened = silent(FileLedger.open(join(newDataFolder(t), 'ledger.jsonl')));
    return fixture(opened, simulatedProcessor(opened.ledger));
  });

  contract('simulated, with its ledger over HTTP', async (t) => {
    const opened = silent(new MemoryLedger());
    const { origin } = await startLedger(t, opened.ledger);
    return fixture(opened, simulatedProcessor(new RemoteLedger(origin)));
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

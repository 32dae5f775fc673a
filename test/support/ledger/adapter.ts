import type { MemoryLedger } from '../../../src/processors/simulated/memory-ledger.ts';
import type { RefundFixture } from '../../contracts/processor-refunds.ts';

/** What a contract suite needs of the simulated processor, with the ledger that it calls. */
export function ledgerFixture(
  ledger: MemoryLedger,
  {
    processor,
    repair,
    neverReplies,
  }: Pick<RefundFixture, 'processor' | 'repair'> & Pick<RefundFixture['tokens'], 'neverReplies'>,
): RefundFixture {
  return {
    processor,
    charges: () => ledger.charges,
    refunds: () =>
      ledger.refunds.map(({ ledgerRefundId, chargeId, amount }) => ({
        processorRefundId: ledgerRefundId,
        chargeId,
        amount,
      })),
    repair,
    refundReplyLost: 'tok_refund_lost_reply',
    tokens: {
      paid: 'tok_paid',
      declined: 'tok_insufficient_funds',
      authenticationRequired: 'tok_authentication_required',
      unknown: 'tok_unknown',
      turnedAway: 'tok_processor_error',
      replyLost: 'tok_lost_reply',
      neverReplies,
    },
  };
}

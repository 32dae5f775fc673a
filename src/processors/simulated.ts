import { inTime } from './in-time.ts';
import type { ChargeOutcome, ChargeRequest, Processor } from './processor.ts';
import type { LedgerReply, SimulatedLedger } from './simulated-ledger.ts';

/**
 * A processor that moves no money, for trying things out and for crash drills. It is served only when asked for
 * (`serve --simulate`), under its own name, and its charge ids read `ch_simulated_…`.
 */
export function simulatedProcessor(ledger: SimulatedLedger): Processor {
  return {
    name: 'simulated',
    isSingleUse: () => false,
    charge: (request) => askLedger(ledger, request),
  };
}

async function askLedger(ledger: SimulatedLedger, request: ChargeRequest): Promise<ChargeOutcome> {
  const { paymentId, processorKey: key, amount, currency, token, timeoutMs } = request;
  const answer = ledger
    .charge({ key, paymentId, amount, currency, token })
    .then(outcomeOf, (): ChargeOutcome => ({ kind: 'unknown', detail: 'the ledger could not be reached' }));
  return inTime(answer, timeoutMs, { kind: 'unknown', detail: 'no reply in time' });
}

function outcomeOf(reply: LedgerReply): ChargeOutcome {
  switch (reply.kind) {
    case 'paid':
      return { kind: 'succeeded', chargeId: reply.chargeId };
    case 'declined':
      return {
        kind: 'declined',
        declineCode: reply.declineCode,
        authenticationRequired: reply.declineCode === 'authentication_required',
      };
    case 'no_such_token':
      return {
        kind: 'refused',
        param: 'token',
        message: 'The simulated processor does not know this token. Try tok_paid or tok_insufficient_funds.',
        detail: 'no such token',
      };
    case 'error':
      return { kind: 'not_taken', detail: 'scripted processor error' };
    case 'lost':
      return { kind: 'unknown', detail: 'scripted loss of the reply' };
  }
}

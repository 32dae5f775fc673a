import { inTime } from '../in-time.ts';
import type { Account, Check, OpenAttempt, Period, ProcessorCharge, Unknown } from '../processor.ts';
import type { LedgerCharge, SimulatedLedger } from './ledger.ts';

/** The account of the simulated processor, and its records. */

export const late: Unknown = { kind: 'unknown', detail: 'no reply in time' };
export const unreachable: Unknown = { kind: 'unknown', detail: 'the ledger could not be reached' };

export function check(ledger: SimulatedLedger, timeoutMs: number): Promise<Check> {
  const checked = ledger.records().then(
    (): Check => ({ kind: 'well' }),
    (): Check => unreachable,
  );
  return inTime(checked, timeoutMs, late);
}

export async function* charges(
  ledger: SimulatedLedger,
  { from, until }: Period,
): AsyncGenerator<ProcessorCharge> {
  const { charges, refunds } = await ledger.records();
  const refunded = new Map<string, number>();
  for (const { chargeId, amount } of refunds) refunded.set(chargeId, (refunded.get(chargeId) ?? 0) + amount);
  for (const charge of charges) {
    const { chargeId, madeAt } = charge;
    if (madeAt < from || madeAt >= until) continue;
    yield { chargeId, amountRefunded: refunded.get(chargeId) ?? 0, ...recordedOf(charge) };
  }
}

/** All of them: a challenge has no end of its own. */
export async function* openAttempts(ledger: SimulatedLedger): AsyncGenerator<OpenAttempt> {
  for (const { challengeId, charge } of await ledger.openChallenges())
    yield { attemptId: challengeId, ...recordedOf(charge) };
}

function recordedOf({ paymentId, amount, currency, request, metadata }: LedgerCharge) {
  return { paymentId, amount, currency, ...(request && { request }), ...(metadata && { metadata }) };
}

/** Each ledger is an account of its own. */
export function account(ledger: SimulatedLedger, timeoutMs: number): Promise<Account> {
  const read = ledger.ledgerId().then(
    (id): Account => ({ kind: 'account', id, mode: 'test' }),
    (): Account => unreachable,
  );
  return inTime(read, timeoutMs, late);
}

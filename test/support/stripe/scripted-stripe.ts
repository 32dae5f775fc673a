import type { TestContext } from 'node:test';
import { type Command, carryOut } from './control.ts';
import { StripeLedger } from './ledger.ts';
import type { StripeRecords } from './objects.ts';
import type { StripeRequest } from './request.ts';
import { StripeServer, secretKey } from './server.ts';

export { droppedLateAfterMs } from './delivery.ts';
export { singleUseToken, singleUseTokenOf } from './scripts.ts';

/**
 * A small Stripe over real HTTP, in this process (`stripe/process.ts` has one in a process of its own): form-encoded
 * requests, Stripe's statuses and error shapes, idempotency keys, PaymentIntents, refunds, lists and the search. What
 * becomes of a charge and of its refunds is scripted by the words of its token: `tok_paid`, `tok_insufficient_funds`,
 * `tok_dropped_after_charging` … (the whole list is `stripe/scripts.ts`).
 */
export interface ScriptedStripe {
  readonly origin: string;
  /** The secret key that it takes. */
  readonly key: string;
  /** Every request that reached it, also those it refused. */
  readonly requests: readonly StripeRequest[];
  /** The money that has moved. */
  readonly charges: readonly StripeCharge[];
  /** While true, everybody is answered 429 before anything is looked at. */
  turnsAway: boolean;
  /** While true, requests are taken and nobody is answered. */
  holds: boolean;
  /** From now on replies arrive, and the scripted faults of service are over; what was answered stays answered. */
  repair(): void;
  command(command: Command): void;
  records(): StripeRecords;
  /** Nobody listens any more. */
  close(): Promise<void>;
}

export interface StripeCharge {
  readonly chargeId: string;
  /** Empty for a charge that bears none: somebody else asked for it. */
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
}

/** Starts it on a free port; stopped after the test. */
export async function startScriptedStripe(t: TestContext): Promise<ScriptedStripe> {
  const server = new StripeServer(new StripeLedger());
  await server.listen();
  t.after(() => server.close().catch(() => undefined));
  return handleOf(server);
}

function handleOf(server: StripeServer): ScriptedStripe {
  const { ledger, origin, requests } = server;
  return {
    origin,
    key: secretKey,
    requests,
    get charges() {
      return chargesOf(ledger.records());
    },
    get turnsAway() {
      return ledger.switches.turnsAway;
    },
    set turnsAway(turnsAway) {
      ledger.set({ turnsAway });
    },
    get holds() {
      return ledger.switches.holds;
    },
    set holds(holds) {
      ledger.set({ holds });
    },
    repair: () => carryOut(ledger, { repair: true }),
    command: (command) => carryOut(ledger, command),
    records: () => ledger.records(),
    close: () => server.close(),
  };
}

/** The money that has moved, of all that is on the books. */
export function chargesOf({ charges }: StripeRecords): StripeCharge[] {
  return charges
    .filter(({ status }) => status === 'succeeded')
    .map(({ id, metadata, amount, currency }) => ({
      chargeId: id,
      paymentId: metadata.counterfoil_payment_id ?? '',
      amount,
      currency,
    }));
}

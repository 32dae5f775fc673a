import type { TestContext } from 'node:test';
import { type Command, carryOut } from './control.ts';
import { StripeLedger, secretKey } from './ledger.ts';
import type { StripeRecords } from './objects.ts';
import type { StripeRequest } from './request.ts';
import { StripeServer } from './server.ts';

export { droppedLateAfterMs } from './delivery.ts';
export { singleUseToken, singleUseTokenOf } from './scripts.ts';

/**
 * A small Stripe over real HTTP in this process (`stripe/process.ts` starts one in another process): form-encoded
 * requests, Stripe's statuses and error shapes, idempotency keys, PaymentIntents, refunds, lists and the search. The
 * word of a token scripts the outcome of its charge and refunds: `tok_paid`, `tok_insufficient_funds`,
 * `tok_dropped_after_charging` … (`stripe/scripts.ts` has the whole list).
 */
export interface ScriptedStripe {
  readonly origin: string;
  /** The secret key that it accepts. */
  readonly key: string;
  /** Every request that reached it, including rejected ones. */
  readonly requests: readonly StripeRequest[];
  /** The charges that succeeded. */
  readonly charges: readonly StripeCharge[];
  /** While true, every request gets a 429 before anything else is checked. */
  turnsAway: boolean;
  /** While true, requests are accepted and get no response. */
  holds: boolean;
  /** From now on replies arrive, and the scripted faults end; stored replies stay the same. */
  repair(): void;
  command(command: Command): void;
  records(): StripeRecords;
  /** Stops listening. */
  close(): Promise<void>;
}

export interface StripeCharge {
  readonly chargeId: string;
  /** Empty for a charge of another system, which has none. */
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

/** The charges that succeeded, of all in the records. */
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

import type { Period, ProcessorAccount, ProcessorCharge } from '../processors/processor.ts';
import { isFinal } from './charge-state.ts';
import type { PaymentContext } from './context.ts';
import { recordsSlackMs } from './limits.ts';
import type { Payment } from './payment.ts';
import { findPayment, paymentsSince } from './payment-store.ts';

export interface Difference {
  readonly paymentId: string | undefined;
  readonly chargeId: string | undefined;
  /** The payment route; undefined if the payment is not among ours. */
  readonly route: string | undefined;
  /** The difference: the rest of a sentence that begins with the payment. */
  readonly what: string;
}

/** What has been compared so far. */
export interface ReconcileCounts {
  /** Our payments in the period. */
  readonly payments: number;
  /** Charges of ours in the processor's records. */
  readonly charges: number;
  /** Charges in the processor's records that another system requested. */
  readonly others: number;
}

export interface ComparisonBounds {
  /** Ends the comparison early. */
  readonly signal?: AbortSignal;
  /** The comparison ends after so many charges in the processor's records. */
  readonly chargesMax?: number;
}

/**
 * Compares our records of a period with the processor's. Every charge that has succeeded in our records must be in the
 * processor's, with the same charged and refunded amounts. Every charge there with a payment id must be ours. Changes
 * nothing.
 */
export class Comparison implements ReconcileCounts {
  payments = 0;
  charges = 0;
  others = 0;
  /** Whether everything was compared. */
  isWhole = false;
  readonly #context: Pick<PaymentContext, 'engine'>;
  readonly #processor: ProcessorAccount;
  readonly #period: Period;
  /** Ids of our payments that the processor has charged. */
  readonly #seen = new Set<string>();

  constructor(context: Pick<PaymentContext, 'engine'>, processor: ProcessorAccount, period: Period) {
    this.#context = context;
    this.#processor = processor;
    this.#period = period;
  }

  /** Yields the differences as they are found. Rejects if the processor's records cannot be read. Call it once. */
  async *differences({ signal, chargesMax = Infinity }: ComparisonBounds = {}): AsyncGenerator<Difference> {
    const from = this.#period.from - recordsSlackMs;
    const until = this.#period.until + recordsSlackMs;
    for await (const charge of this.#processor.charges({ from, until })) {
      if (signal?.aborted || this.charges + this.others >= chargesMax) return;
      if (charge.paymentId === undefined) this.others++;
      else yield* this.#differencesAt(charge, charge.paymentId);
    }
    yield* this.#missingThere(signal);
    this.isWhole = signal?.aborted !== true;
  }

  async *#differencesAt(charge: ProcessorCharge, paymentId: string): AsyncGenerator<Difference> {
    this.charges++;
    const { chargeId } = charge;
    const payment = await findPayment(this.#context, paymentId);
    if (payment?.processor !== this.#processor.name) {
      const what = 'is in the processor’s records but not among our payments';
      yield { paymentId, chargeId, route: undefined, what };
      return;
    }
    const found = { paymentId, chargeId, route: payment.route };
    if (this.#seen.has(paymentId)) yield { ...found, what: 'is a second charge of one payment' };
    this.#seen.add(paymentId);
    for (const what of findDifferences(payment, charge)) yield { ...found, what };
  }

  async *#missingThere(signal: AbortSignal | undefined): AsyncGenerator<Difference> {
    const { from, until } = this.#period;
    for await (const { id: paymentId, processor, route, chargeId, state, createdAt } of paymentsSince(
      this.#context,
      from,
    )) {
      if (Date.parse(createdAt) >= until || signal?.aborted) break;
      if (processor !== this.#processor.name) continue;
      this.payments++;
      if (this.#seen.has(paymentId)) continue;
      const found = { paymentId, chargeId, route };
      if (state === 'succeeded')
        yield { ...found, what: 'has succeeded but is not in the processor’s records' };
      if (!isFinal(state)) yield { ...found, what: `is ${state} and not in the processor’s records` };
    }
  }
}

function findDifferences(payment: Payment, charge: ProcessorCharge): string[] {
  const { state, amount, currency, chargeId } = payment;
  const differences: string[] = [];
  const differs = (what: string, ours: unknown, theirs: unknown) => {
    if (ours !== theirs)
      differences.push(`has ${what} ${ours} here and ${theirs} in the processor’s records`);
  };
  if (state !== 'succeeded') differences.push(`is ${state} here but charged in the processor’s records`);
  else differs('charge id', chargeId, charge.chargeId);
  differs('amount', amount, charge.amount);
  differs('currency', currency, charge.currency);
  const refunded = (payment.refunds ?? []).filter(({ state: of }) => of === 'succeeded' || of === 'pending');
  differs(
    'refunded',
    refunded.reduce((sum, refund) => sum + refund.amount, 0),
    charge.amountRefunded,
  );
  return differences;
}

/** A difference as the command line and the HTTP interface show it. */
export function publicDifference({ paymentId, chargeId, route, what }: Difference) {
  return {
    payment_id: paymentId ?? null,
    charge_id: chargeId ?? null,
    route: route ?? null,
    difference: what,
  };
}

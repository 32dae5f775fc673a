import { errorFields } from '../../log.ts';
import { itemsOf } from '../../storage/item-text.ts';
import { resumeCharge } from '../charge/execute.ts';
import { hasEnded, moveCharge } from '../charge-state.ts';
import { findProcessor, type PaymentParts } from '../context.ts';
import { recoveryDelayMsMax } from '../limits.ts';
import { idsOf, type OpenMarker, openSpace, taken, waiting } from '../ownership/marker.ts';
import type { Payment } from '../payment.ts';
import { findPayment, replaced } from '../payment-store.ts';
import { findRefund, withRefund } from '../refund/amounts.ts';
import { resumeRefund } from '../refund/execute.ts';
import { moveRefund } from '../refund-state.ts';
import { OpenSeen } from './open-payment-counts.ts';
import { RecoveryQueue } from './queue.ts';

interface Due {
  readonly id: string;
  readonly processor: string;
  /** The marker as it reads now; whoever changes it first drives it. */
  readonly marker: string;
}

type Known = Map<string, { readonly driver: string; readonly since: number }>;

/**
 * Finds out what became of charges and refunds that nobody drives: those left by a process that died and those in
 * doubt. Each is taken by changing its marker, so that of several processes one drives it, and then goes the normal
 * way on from step two, with the key it always had.
 *
 * Each processor has its own queue: one that hangs delays no other's charges. How often a processor is called is bounded
 * where the calls are sent (`processors/sending/pace.ts`).
 */
export class Recovery {
  readonly #parts: PaymentParts;
  /** Markers of other drivers: since when this process knows of them, as `performance.now()` tells. */
  #known: Known = new Map();
  /** Payments of other accounts that the log names already. */
  readonly #reported = new Set<string>();
  readonly #queues = new Map<string, RecoveryQueue<Due>>();

  constructor(parts: PaymentParts) {
    this.#parts = parts;
  }

  /** Looks for all that is due and queues it; resolves when it is queued. @param signal nothing is begun after it */
  async round(signal: AbortSignal): Promise<void> {
    const due = Map.groupBy(await this.#findDue(), ({ processor }) => processor);
    // Also clears the queues of processors with nothing due.
    for (const name of new Set([...due.keys(), ...this.#queues.keys()]))
      this.#queueOf(name).replace(due.get(name) ?? [], signal);
  }

  #queueOf(processor: string): RecoveryQueue<Due> {
    let queue = this.#queues.get(processor);
    if (queue === undefined) {
      queue = new RecoveryQueue((due) => this.#parts.inFlight.add(this.#recover(due)));
      this.#queues.set(processor, queue);
    }
    return queue;
  }

  async #findDue(): Promise<Due[]> {
    const { engine, drivers, now, metrics } = this.#parts;
    const seen = new OpenSeen(now());
    await drivers.watch();
    const due: Due[] = [];
    const known: Known = new Map();
    for await (const { id, name: marker } of itemsOf((await engine.scan(openSpace))?.chunks ?? [])) {
      const open = JSON.parse(marker) as OpenMarker;
      const { processor } = open;
      seen.note(id, open);
      if ('driver' in open) {
        const before = this.#known.get(id);
        const since = before?.driver === open.driver ? before.since : performance.now();
        known.set(id, { driver: open.driver, since });
        if (drivers.hasLetGo(open.driver, id, since)) due.push({ id, marker, processor });
      } else if (isDue(open.dueAt, now())) due.push({ id, marker, processor });
    }
    this.#known = known;
    metrics.openPayments(seen.facts());
    await drivers.forgetOthers(new Set(Array.from(known.values(), ({ driver }) => driver)));
    // Ids sort by time: the oldest first.
    return due;
  }

  async #recover({ id, marker, processor }: Due): Promise<void> {
    const { drivers, log } = this.#parts;
    await drivers.drive(id, async () => {
      const { paymentId, refundId } = idsOf(id);
      try {
        const payment = await this.#take(id, marker);
        if (payment === undefined) return;
        if (!(await this.#mayConclude(payment))) return await this.#postpone(id, processor);
        const refund = refundId === undefined ? undefined : findRefund(payment, refundId);
        if (refund === undefined) await resumeCharge(this.#parts, payment);
        else await resumeRefund(this.#parts, payment, refund);
      } catch (error) {
        const ids = { payment_id: paymentId, refund_id: refundId };
        log.error('charge_not_recovered', { ...ids, ...errorFields(error) });
        await this.#postpone(id, processor).catch(() => undefined);
      }
    });
  }

  /** Another account's books prove nothing about this payment. */
  async #mayConclude(payment: Payment): Promise<boolean> {
    const { accounts, log } = this.#parts;
    const differs = await accounts.differs(payment, findProcessor(this.#parts, payment.processor));
    if (differs === 'yes' && !this.#reported.has(payment.id)) {
      this.#reported.add(payment.id);
      log.error('charge_of_another_account', { payment_id: payment.id, processor: payment.processor });
    }
    return differs === 'no';
  }

  /** @returns the payment, in doubt where it was under way, or undefined when somebody else was faster */
  async #take(id: string, marker: string): Promise<Payment | undefined> {
    const payment = await findPayment(this.#parts, idsOf(id).paymentId);
    if (payment === undefined) return undefined;
    const inDoubt = asInDoubt(payment, idsOf(id).refundId);
    const writes = [taken(this.#parts, id, marker)];
    if (inDoubt !== payment) writes.push(replaced(payment, inDoubt));
    return (await this.#parts.engine.commit(writes)) === undefined ? inDoubt : undefined;
  }

  async #postpone(id: string, processor: string): Promise<void> {
    await this.#parts.engine.commit([waiting(this.#parts, id, { processor }, postponedAttempts)]);
  }
}

/** Something is wrong with us, not with the processor: half a minute. */
const postponedAttempts = 6;

/** A time further away than any that is set was set by a clock that was wrong. */
function isDue(dueAt: number, now: number): boolean {
  return dueAt <= now || dueAt > now + 2 * recoveryDelayMsMax;
}

/** Whoever was asking may have been answered, and nobody has heard it. */
function asInDoubt(payment: Payment, refundId: string | undefined): Payment {
  if (refundId === undefined) {
    if (hasEnded(payment.state) || payment.state === 'in_doubt') return payment;
    return { ...payment, state: moveCharge(payment.state, 'in_doubt') };
  }
  const refund = findRefund(payment, refundId);
  if (refund?.state !== 'calling') return payment;
  return withRefund(payment, { ...refund, state: moveRefund(refund.state, 'in_doubt') });
}

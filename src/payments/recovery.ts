import { errorFields } from '../log.ts';
import type { Stored } from '../storage/records.ts';
import type { OpenPayments } from '../telemetry.ts';
import { resumeCharge } from './charge/execute.ts';
import { transitionCharge } from './charge-state.ts';
import { findProcessor, type PaymentContext } from './context.ts';
import {
  processorCallMsMax,
  recoveryChargesMax,
  recoveryDelayMsMax,
  recoveryDelayOfHoldMsMax,
} from './limits.ts';
import {
  claimMarker,
  type OpenMarker,
  openMarkers,
  type Pause,
  parseOpenId,
  postponeMarker,
} from './ownership/marker.ts';
import { madeAt, type Payment } from './payment.ts';
import { findPayment, replaced } from './payment-store.ts';
import { findRefund, withRefund } from './refund/amounts.ts';
import { resumeRefund } from './refund/execute.ts';
import { transitionRefund } from './refund-state.ts';

interface Due {
  /** The id of the marker. */
  readonly id: string;
  /** The process that is first to change the marker becomes the owner. */
  readonly marker: Stored<OpenMarker>;
  /** Since when the charge or refund is due, in milliseconds since 1970; 0 if its owner has died. */
  readonly since: number;
}

type Known = Map<string, { readonly owner: string; readonly since: number }>;

/**
 * Resolves charges and refunds without an owner: those in doubt, and those of processes that died. A process claims one
 * by changing its marker, so that it has one owner, and resumes it from step two with the same key.
 *
 * Each processor has a separate queue, so that a processor that hangs delays no charges of others.
 * `processors/sending/throttle.ts` limits the rate of calls.
 */
export class Recovery {
  readonly #context: PaymentContext;
  /** The owner of each marker, and since when this process has seen it there, by `performance.now()`. */
  #known: Known = new Map();
  /** Payments of other accounts that were logged already. */
  readonly #reported = new Set<string>();
  readonly #queues = new Map<string, RecoveryQueue<Due>>();

  constructor(context: PaymentContext) {
    this.#context = context;
  }

  /**
   * Queues everything that is due, and then resolves. While payments are shut, nothing is due.
   *
   * @param signal stops new work
   */
  async round(signal: AbortSignal): Promise<void> {
    const found = await this.#findDue();
    // Recovery on a restored snapshot would request charges again that ended after the backup.
    const isOpen = await this.#context.lock.isOpen();
    const due = Map.groupBy(isOpen ? found : [], ({ marker }) => marker.value.processor);
    // Includes processors with nothing due, to clear their queues.
    for (const name of new Set([...due.keys(), ...this.#queues.keys()]))
      this.#queue(name).replace(due.get(name) ?? [], signal);
  }

  #queue(processor: string): RecoveryQueue<Due> {
    let queue = this.#queues.get(processor);
    if (queue === undefined) {
      queue = new RecoveryQueue((due) => this.#context.inFlight.add(this.#recover(due)));
      this.#queues.set(processor, queue);
    }
    return queue;
  }

  async #findDue(): Promise<Due[]> {
    const { engine, heartbeats, now, metrics } = this.#context;
    const counts = new OpenPaymentCounts(now());
    await heartbeats.watch();
    const due: Due[] = [];
    const known: Known = new Map();
    for await (const marker of openMarkers(engine).list()) {
      const { id, value: open } = marker;
      counts.note(id, open);
      if ('owner' in open) {
        const before = this.#known.get(id);
        const since = before?.owner === open.owner ? before.since : performance.now();
        known.set(id, { owner: open.owner, since });
        if (heartbeats.hasReleased(open.owner, id, since)) due.push({ id, marker, since: 0 });
      } else if (isDue(open.dueAt, now())) due.push({ id, marker, since: open.dueAt });
    }
    this.#known = known;
    metrics.openPayments(counts.facts());
    await heartbeats.forgetOthers(new Set(Array.from(known.values(), ({ owner }) => owner)));
    // The longest wait comes first, so that charges with short pauses do not displace the others.
    return due.sort((a, b) => a.since - b.since);
  }

  async #recover({ id, marker }: Due): Promise<void> {
    const { heartbeats, log } = this.#context;
    await heartbeats.own(id, async () => {
      const { paymentId, refundId } = parseOpenId(id);
      try {
        const payment = await this.#claim(marker);
        if (payment === undefined) return;
        const differs = await this.#differs(payment);
        // Retry soon if the account cannot be read, because the processor may be down. A different account will not
        // change, so wait longer.
        if (differs !== 'no') return await this.#postpone(marker, differs === 'unknown');
        const refund = refundId === undefined ? undefined : findRefund(payment, refundId);
        if (refund === undefined) await resumeCharge(this.#context, payment);
        else await resumeRefund(this.#context, payment, refund);
      } catch (error) {
        const ids = { payment_id: paymentId, refund_id: refundId };
        log.error('charge_not_recovered', { ...ids, ...errorFields(error) });
        await this.#postpone(marker, false).catch(() => undefined);
      }
    });
  }

  /** Another account's records prove nothing about this payment. Throws while payments are shut for its account. */
  async #differs(payment: Payment): Promise<'no' | 'yes' | 'unknown'> {
    const { accounts, lock, log } = this.#context;
    const processor = findProcessor(this.#context, payment.processor);
    const differs = await accounts.differs(payment, processor);
    if (differs === 'yes' && !this.#reported.has(payment.id)) {
      this.#reported.add(payment.id);
      log.error('charge_of_another_account', { payment_id: payment.id, processor: payment.processor });
    }
    if (differs === 'no') await lock.checkFor(() => accounts.required(processor));
    return differs;
  }

  /** @returns the payment, in doubt if it was under way; undefined if another process was faster */
  async #claim(marker: Stored<OpenMarker>): Promise<Payment | undefined> {
    const { paymentId, refundId } = parseOpenId(marker.id);
    const payment = await findPayment(this.#context, paymentId);
    if (payment === undefined) return undefined;
    const inDoubt = asInDoubt(payment, refundId);
    const writes = [claimMarker(this.#context, marker)];
    if (inDoubt !== payment) writes.push(replaced(payment, inDoubt));
    return (await this.#context.engine.commit(writes)) === undefined ? inDoubt : undefined;
  }

  async #postpone({ id, value }: Stored<OpenMarker>, isShort: boolean): Promise<void> {
    const pause: Pause = {
      attempts: postponedAttempts,
      ...(isShort ? { msMax: recoveryDelayOfHoldMsMax } : {}),
    };
    await this.#context.engine.commit([postponeMarker(this.#context, id, value, pause)]);
  }
}

/** For an error on our side, the pause is that of this attempt: half a minute. */
const postponedAttempts = 6;

/** A time further ahead than the longest delay comes from a wrong clock, so it counts as due. */
function isDue(dueAt: number, now: number): boolean {
  return dueAt <= now || dueAt > now + 2 * recoveryDelayMsMax;
}

/** The processor may have replied to the dead owner, so a running charge or refund is now in doubt. */
function asInDoubt(payment: Payment, refundId: string | undefined): Payment {
  if (refundId === undefined) {
    if (payment.state !== 'calling') return payment;
    return { ...payment, state: transitionCharge(payment.state, 'in_doubt') };
  }
  const refund = findRefund(payment, refundId);
  if (refund?.state !== 'calling') return payment;
  return withRefund(payment, { ...refund, state: transitionRefund(refund.state, 'in_doubt') });
}

/** The due charges and refunds of one processor. Runs at most `recoveryChargesMax` at once; the others wait. */
class RecoveryQueue<Due extends { readonly id: string }> {
  readonly #work: (due: Due) => Promise<void>;
  readonly #running = new Set<string>();
  #waiting: Due[] = [];
  #signal: AbortSignal | undefined;

  /** @param work never rejects */
  constructor(work: (due: Due) => Promise<void>) {
    this.#work = work;
  }

  /** Replaces the waiting entries. Entries that are missing from `due` were finished by another process. */
  replace(due: readonly Due[], signal: AbortSignal): void {
    this.#waiting = due.filter(({ id }) => !this.#running.has(id)).reverse();
    this.#signal = signal;
    this.#fill();
  }

  #fill(): void {
    while (this.#running.size < recoveryChargesMax && !this.#signal?.aborted) {
      const next = this.#waiting.pop();
      if (next === undefined) return;
      this.#running.add(next.id);
      void this.#work(next).finally(() => {
        this.#running.delete(next.id);
        this.#fill();
      });
    }
  }
}

/**
 * Counts the open payments for the operator while recovery scans them. A charge counts as in doubt if it waits for a
 * retry, or if it is older than a call to a processor may take. A charge that waits for its cardholder is not in doubt.
 */
class OpenPaymentCounts {
  readonly #now: number;
  #charges = 0;
  #chargesInDoubt = 0;
  #refunds = 0;
  #oldestInDoubtAt: number | undefined;

  /** @param now milliseconds since 1970 */
  constructor(now: number) {
    this.#now = now;
  }

  note(openId: string, marker: OpenMarker): void {
    const { paymentId, refundId } = parseOpenId(openId);
    if (refundId !== undefined) {
      this.#refunds++;
      return;
    }
    this.#charges++;
    const at = madeAt(paymentId);
    if ('waitsFor' in marker) return;
    if (!('dueAt' in marker) && this.#now - at <= processorCallMsMax) return;
    this.#chargesInDoubt++;
    this.#oldestInDoubtAt = Math.min(at, this.#oldestInDoubtAt ?? at);
  }

  facts(): OpenPayments {
    return {
      charges: this.#charges,
      chargesInDoubt: this.#chargesInDoubt,
      refunds: this.#refunds,
      oldestInDoubtAt: this.#oldestInDoubtAt,
    };
  }
}

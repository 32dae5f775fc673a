import { setTimeout as sleep } from 'node:timers/promises';
import type { Square } from 'square';
import { inTime } from '../in-time.ts';
import type {
  ChargeOutcome,
  LookUp,
  Owner,
  Period,
  ProcessorCharge,
  SoughtCharge,
  Unknown,
} from '../processor.ts';
import { type Account, eachWithin, within } from './account.ts';
import { outcomeOfPayment } from './charge.ts';
import { faultOf } from './errors.ts';

/** Square's most. */
const pageItems = 100;
/** Payments looked through for one: more than any account makes in the minutes after a lost reply. */
const listedMax = 5_000;
/** Square's clock and ours. */
const clockSlackMs = 300_000;
/** For one page of the books. */
const pageMsMax = 60_000;

/**
 * Looks for the payment that bears our payment id. Square cannot search for it: the list of the time in question is
 * read (https://developer.squareup.com/reference/square/payments-api/list-payments). That list may be some seconds
 * behind, so that what could be too new for it is looked for once more after that time, before it is called absent.
 */
export async function findCharge(account: Account, sought: SoughtCharge): Promise<LookUp<ChargeOutcome>> {
  const looking = looked(account, sought).catch((error: unknown) => unknown(faultOf(error).detail));
  return inTime(looking, sought.timeoutMs, unknown('no look-up in time'));
}

async function looked(account: Account, sought: SoughtCharge): Promise<LookUp<ChargeOutcome>> {
  const options = within(sought.timeoutMs);
  const found = await listed(account, sought, options);
  const isSettled = Date.now() > sought.askedUntil + account.listLagMs;
  if (found.kind !== 'absent' || isSettled) return found;
  await sleep(account.listLagMs, undefined, { ref: false });
  return listed(account, sought, options);
}

/**
 * The whole list is read unless the payment succeeded: an attempt that failed may stand in it before one, with the same
 * key, that did not.
 */
async function listed(
  { client, locationId }: Account,
  { paymentId, askedFrom, askedUntil }: SoughtCharge,
  options: ReturnType<typeof within>,
): Promise<LookUp<ChargeOutcome>> {
  const period = { from: askedFrom - clockSlackMs, until: askedUntil + clockSlackMs };
  let found: LookUp<ChargeOutcome> = { kind: 'absent' };
  let seen = 0;
  for await (const payment of await client.payments.list(listing(period, locationId), options)) {
    if (payment.referenceId === paymentId) {
      const outcome = outcomeOfPayment(payment);
      if (outcome.kind === 'succeeded') return outcome;
      if (found.kind !== 'unknown') found = outcome;
    }
    if (++seen === listedMax) return unknown('too many payments to look through');
  }
  return found;
}

/** Oldest first: what is made while the pages are read comes last and moves none of them. */
function listing({ from, until }: Period, locationId: string | undefined): Square.ListPaymentsRequest {
  return {
    beginTime: new Date(from).toISOString(),
    endTime: new Date(until).toISOString(),
    sortOrder: 'ASC',
    limit: pageItems,
    ...(locationId === undefined ? {} : { locationId }),
  };
}

function unknown(detail: string): Unknown {
  return { kind: 'unknown', detail };
}

export async function findOwner(
  { client }: Account,
  chargeId: string,
  timeoutMs: number,
): Promise<Owner | Unknown> {
  const found = client.payments.get({ paymentId: chargeId }, within(timeoutMs)).then(
    ({ payment }): Owner => ({ kind: 'owner', paymentId: paymentIdOf(payment?.referenceId) }),
    (error: unknown): Owner | Unknown =>
      (error as { statusCode?: number }).statusCode === 404
        ? { kind: 'owner', paymentId: undefined }
        : unknown(faultOf(error).detail),
  );
  return inTime<Owner | Unknown>(found, timeoutMs, { kind: 'unknown', detail: 'no look-up in time' });
}

/** Payments of our location that have moved money. Square does not say whether the end of a period is part of it. */
export async function* charges(
  { client, locationId }: Account,
  period: Period,
): AsyncGenerator<ProcessorCharge> {
  const options = eachWithin(pageMsMax);
  for await (const payment of await client.payments.list(listing(period, locationId), options)) {
    const madeAt = Date.parse(payment.createdAt ?? '');
    if (payment.status !== 'COMPLETED' || madeAt < period.from || madeAt >= period.until) continue;
    // What was charged and what can be given back: with the tip, where somebody else took one.
    const money = payment.totalMoney ?? payment.amountMoney;
    yield {
      chargeId: payment.id ?? '',
      paymentId: paymentIdOf(payment.referenceId),
      amount: Number(money?.amount ?? 0),
      amountRefunded: Number(payment.refundedMoney?.amount ?? 0),
      currency: money?.currency ?? '',
    };
  }
}

/** @returns the reference of a payment if it is an id of ours; anybody who uses the account may leave another */
export function paymentIdOf(referenceId: string | undefined): string | undefined {
  return referenceId !== undefined && /^pay_[0-9a-f]{32}$/.test(referenceId) ? referenceId : undefined;
}

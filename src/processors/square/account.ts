import { defined } from '../../defined.ts';
import type { Account, Check, Owner, Period, ProcessorCharge, Unknown } from '../processor.ts';
import { outcomeInTime } from '../sending/outcomes.ts';
import { asObject, asText, type Json, locationQuery, type SquareAccount, SquareError } from './api.ts';
import { totalMoney } from './charge.ts';
import { readFault } from './errors.ts';
import { listPayments, parsePaymentId } from './look-up.ts';

/**
 * The merchant and the location, because payments are looked up in the list of one location
 * (https://developer.squareup.com/reference/square/locations-api/retrieve-location).
 */
export async function account({ api, locationId, mode }: SquareAccount, timeoutMs: number): Promise<Account> {
  const read = api.get(`/v2/locations/${locationId ?? 'main'}`, {}, { timeoutMs }).then(
    (reply): Account => {
      const location = asObject(reply.location);
      const [merchant, id] = [asText(location.merchant_id), asText(location.id)];
      if (merchant === undefined || id === undefined)
        return { kind: 'unknown', detail: 'no location in the reply' };
      return { kind: 'account', id: `${merchant}/${id}`, ...defined({ mode }) };
    },
    (error: unknown): Account =>
      error instanceof SquareError && error.status === 403
        ? { kind: 'withheld', ...defined({ mode }) }
        : { kind: 'unknown', detail: readFault(error).detail },
  );
  return outcomeInTime(read, timeoutMs);
}

/**
 * Lists one payment of our location, because looking up a charge needs the same permission
 * (https://developer.squareup.com/reference/square/payments-api/list-payments).
 */
export async function check(account: SquareAccount, timeoutMs: number): Promise<Check> {
  const query = { limit: '1', ...locationQuery(account) };
  const listed = account.api.get('/v2/payments', query, { timeoutMs }).then(
    (): Check => ({ kind: 'well' }),
    (error: unknown): Check => {
      const { status, detail } = readFault(error);
      // 404 and 400 mean a wrong location.
      const isRejected = status !== undefined && status >= 400 && status < 408;
      return { kind: isRejected ? 'rejected' : 'unknown', detail };
    },
  );
  return outcomeInTime(listed, timeoutMs);
}

export async function findOwner(
  { api }: SquareAccount,
  chargeId: string,
  timeoutMs: number,
): Promise<Owner | Unknown> {
  const found = api.get(`/v2/payments/${encodeURIComponent(chargeId)}`, {}, { timeoutMs }).then(
    (reply): Owner => paymentOwner(asObject(reply.payment)),
    (error: unknown): Owner | Unknown =>
      error instanceof SquareError && error.status === 404
        ? { kind: 'owner', paymentId: undefined, isPaid: false }
        : { kind: 'unknown', detail: readFault(error).detail },
  );
  return outcomeInTime(found, timeoutMs, 'no look-up in time');
}

function paymentOwner({ reference_id, status }: Json): Owner {
  return { kind: 'owner', paymentId: parsePaymentId(asText(reference_id)), isPaid: status === 'COMPLETED' };
}

/** Yields our location's payments that moved money. Square does not document whether a period's end is inclusive. */
export async function* charges(account: SquareAccount, period: Period): AsyncGenerator<ProcessorCharge> {
  for await (const payment of listPayments(account, period)) {
    const madeAt = Date.parse(asText(payment.created_at) ?? '');
    if (payment.status !== 'COMPLETED' || madeAt < period.from || madeAt >= period.until) continue;
    const money = totalMoney(payment);
    yield {
      chargeId: asText(payment.id) ?? '',
      paymentId: parsePaymentId(asText(payment.reference_id)),
      amount: Number(money.amount ?? 0),
      amountRefunded: Number(asObject(payment.refunded_money).amount ?? 0),
      currency: asText(money.currency) ?? '',
    };
  }
}

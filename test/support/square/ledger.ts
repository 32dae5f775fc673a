import { randomBytes } from 'node:crypto';
import { errorOf, type Json, type Reply, rejection, type SquareRequest } from './request.ts';
import { fault, isSingleUse, outOfOrder, scripts, wordOf } from './scripts.ts';

export interface SquareCharge {
  readonly chargeId: string;
  readonly paymentId: string;
  readonly amount: number;
  readonly currency: string;
}

export interface SquareRefund {
  readonly processorRefundId: string;
  readonly chargeId: string;
  readonly amount: number;
}

export interface SquareSwitches {
  /** The merchant id of the account. */
  merchant: string;
  /** The only currency that the account accepts. */
  currency: string;
  /** The maximum number of items of a page, whatever the request's limit. */
  pageItems: number;
  /** How long a new payment is missing from the list. */
  listLagMs: number;
  /** From this page of a list on, the response is a 500. */
  failsFromPage: number;
  /** While true, every request gets a 429 before anything else is checked. */
  turnsAway: boolean;
  /** While true, requests are accepted and get no response. */
  holds: boolean;
}

/** The payments and refunds of one account, and how they are made and listed. */
export class SquareLedger {
  readonly switches: SquareSwitches = {
    merchant: 'MSCRIPTED',
    currency: 'EUR',
    pageItems: 100,
    listLagMs: 0,
    failsFromPage: Number.POSITIVE_INFINITY,
    turnsAway: false,
    holds: false,
  };
  /** Whether the scripted faults have ended. */
  isRepaired = false;
  readonly #payments = new Map<string, Json>();
  readonly #refunds = new Map<string, Json>();
  readonly #wordsByPayment = new Map<string, string>();
  readonly #usedNonces = new Set<string>();

  get charges(): readonly SquareCharge[] {
    return [...this.#payments.values()]
      .filter(({ status }) => status === 'COMPLETED')
      .map(({ id, reference_id, amount_money }) => ({
        chargeId: id,
        paymentId: reference_id,
        amount: amount_money.amount,
        currency: amount_money.currency,
      }));
  }

  get refunds(): readonly SquareRefund[] {
    return [...this.#refunds.values()]
      .filter(({ status }) => status === 'COMPLETED' || status === 'PENDING')
      .map(({ id, payment_id, amount_money }) => ({
        processorRefundId: id,
        chargeId: payment_id,
        amount: amount_money.amount,
      }));
  }

  settle(id: string, status: string): void {
    const found = this.#payments.get(id) ?? this.#refunds.get(id);
    found.status = status;
  }

  addPayment(fields: Record<string, unknown>): string {
    const id = newId();
    const now = new Date().toISOString();
    const money = { amount: 1_000, currency: this.switches.currency };
    const payment = {
      id,
      created_at: now,
      updated_at: now,
      amount_money: money,
      total_money: money,
      status: 'COMPLETED',
      source_type: 'CARD',
      location_id: 'LMAIN',
      ...fields,
    };
    this.#payments.set(id, payment);
    return id;
  }

  addRefund(chargeId: string, fields: Record<string, unknown>): string {
    const payment = this.#payments.get(chargeId);
    const id = `${chargeId}_${newId()}`;
    const refund = {
      id,
      payment_id: chargeId,
      status: 'PENDING',
      location_id: payment.location_id,
      ...fields,
    };
    this.#refunds.set(id, refund);
    payment.refund_ids = [...(payment.refund_ids ?? []), id];
    const amount = this.#refundedOf(chargeId);
    payment.refunded_money = { amount, currency: payment.amount_money.currency };
    return id;
  }

  /** The word of the token that a payment was made with. */
  wordOf(paymentId: string): string {
    return this.#wordsByPayment.get(paymentId) ?? '';
  }

  /** Voids an approved payment; a missing payment is not an error. */
  cancel(paymentId: string | undefined): Reply {
    const payment = this.#payments.get(paymentId ?? '');
    if (payment?.status === 'COMPLETED')
      return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'BAD_REQUEST')]);
    if (payment?.status === 'APPROVED') payment.status = 'CANCELED';
    return { status: 200, body: {} };
  }

  pay(body: Json): Reply {
    const { source_id: token, amount_money: money, reference_id: reference, location_id = 'LMAIN' } = body;
    const script = scripts[isSingleUse(token) ? 'paid' : wordOf(token)];
    // Square sends no field here.
    if (script === undefined) return rejection([fault(404, 'INVALID_REQUEST_ERROR', 'NOT_FOUND')]);
    const wrong =
      wrongMoney(money, this.switches.currency) ?? (reference?.length > 40 ? 'reference_id' : undefined);
    if (wrong !== undefined) return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'INVALID_VALUE', wrong)]);
    if (this.#usedNonces.has(token))
      return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'CARD_TOKEN_USED', 'source_id')]);
    if (isSingleUse(token)) this.#usedNonces.add(token);
    const failure = script.passes && this.isRepaired ? undefined : script.fault;
    if (failure !== undefined && failure.status !== 402) return rejection([failure]);
    const faults = failure === undefined ? [] : [failure, ...(script.more ?? [])];
    const status = failure === undefined ? (script.status ?? 'COMPLETED') : 'FAILED';
    const card = { status: status === 'COMPLETED' ? 'CAPTURED' : status, errors: faults.map(errorOf) };
    const id = this.addPayment({
      amount_money: money,
      total_money: money,
      status,
      reference_id: reference,
      location_id,
      card_details: faults.length === 0 ? { status: card.status } : card,
    });
    this.#wordsByPayment.set(id, wordOf(token));
    const payment = structuredClone(this.#payments.get(id));
    if (failure === undefined) return { status: 200, body: { payment } };
    return { status: 402, body: { errors: card.errors, payment } };
  }

  refund(body: Json): Reply {
    const payment = this.#payments.get(body.payment_id);
    const script = scripts[this.wordOf(body.payment_id)]?.refund ?? {};
    if (payment === undefined)
      return rejection([fault(404, 'INVALID_REQUEST_ERROR', 'NOT_FOUND', 'payment_id')]);
    if (script.fault !== undefined && !(script.passes && this.isRepaired)) return rejection([script.fault]);
    const left = payment.total_money.amount - this.#refundedOf(payment.id);
    if (body.amount_money.amount > left || payment.status !== 'COMPLETED')
      return rejection([fault(400, 'REFUND_ERROR', 'REFUND_AMOUNT_INVALID', 'amount_money.amount')]);
    const { amount_money, reason } = body;
    const id = this.addRefund(payment.id, { amount_money, reason, status: script.status ?? 'PENDING' });
    return { status: 200, body: { refund: structuredClone(this.#refunds.get(id)) } };
  }

  #refundedOf(chargeId: string): number {
    return this.refunds
      .filter((each) => each.chargeId === chargeId)
      .reduce((sum, { amount }) => sum + amount, 0);
  }

  read({ path, query }: SquareRequest): Reply {
    if (path === '/v2/payments') return this.#list(query);
    const [, , kind, id = ''] = path.split('/');
    const found = kind === 'payments' ? this.#payments.get(id) : this.#refunds.get(id);
    if (found === undefined) return rejection([fault(404, 'INVALID_REQUEST_ERROR', 'NOT_FOUND')]);
    return { status: 200, body: { [kind === 'payments' ? 'payment' : 'refund']: found } };
  }

  /** The cursor is opaque to the caller: it encodes the number of items before the page. */
  #list({
    begin_time: begin = '',
    end_time: end,
    sort_order = 'DESC',
    cursor,
    limit,
    location_id = 'LMAIN',
  }: SquareRequest['query']): Reply {
    const items = Math.min(Number(limit ?? 100), this.switches.pageItems);
    const offset = cursor === undefined ? 0 : Number(Buffer.from(cursor, 'base64url').toString());
    if (offset / items + 1 >= this.switches.failsFromPage) return rejection([outOfOrder]);
    const requestedEnd = Date.parse(end ?? new Date().toISOString());
    const until =
      this.switches.listLagMs === 0
        ? requestedEnd
        : Math.min(requestedEnd, Date.now() - this.switches.listLagMs);
    const all = [...this.#payments.values()]
      .filter((payment) => payment.location_id === location_id)
      .filter(({ created_at: at }) => Date.parse(at) >= Date.parse(begin) && Date.parse(at) <= until);
    if (sort_order === 'DESC') all.reverse();
    const payments = all.slice(offset, offset + items);
    const next = offset + items;
    if (next >= all.length) return { status: 200, body: { payments } };
    return { status: 200, body: { payments, cursor: Buffer.from(String(next)).toString('base64url') } };
  }
}

function wrongMoney(money: Json, currency: string): string | undefined {
  if (money?.currency !== currency) return 'amount_money.currency';
  return Number.isSafeInteger(money.amount) && money.amount > 0 ? undefined : 'amount_money.amount';
}

function newId(): string {
  return randomBytes(22).toString('base64url').replace(/[-_]/g, 'Y');
}

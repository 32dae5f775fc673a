import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import {
  fault,
  isSingleUse,
  type Loss,
  outOfOrder,
  type Script,
  type SquareFault,
  scripts,
  wordOf,
} from './scripts.ts';

export { signedDelivery, squareEvent } from './events.ts';
export { singleUseNonce, tokensOfPairs } from './scripts.ts';

/**
 * A small Square over real HTTP, for as much of it as payments and refunds need, made from Square's public API
 * reference (https://developer.squareup.com/reference/square): JSON, a bearer token, lists of errors, idempotency keys
 * in the body, single-use nonces, and paged lists that may lag behind. The word of a token scripts the outcome of its
 * payment and refunds: `cnon:paid`, `cnon:insufficient-funds`, `cnon:dropped-after-charging` …
 * (`square/scripts.ts` has the whole list).
 */
export interface ScriptedSquare {
  readonly origin: string;
  /** The access token that it accepts. */
  readonly accessToken: string;
  /** Every request that reached it, including rejected ones. */
  readonly requests: readonly SquareRequest[];
  /** The payments that succeeded. */
  readonly charges: readonly SquareCharge[];
  /** The refunds that are completed or pending. */
  readonly refunds: readonly SquareRefund[];
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
  /** From now on replies arrive, and the scripted faults end; stored replies stay the same. */
  repair(): void;
  /** Sets the status of a payment or refund, as Square does later. */
  settle(chargeId: string, status: string): void;
  /** Adds a payment of another system or of an earlier attempt. */
  addPayment(fields: Record<string, unknown>): string;
  /** Adds a refund that was made on Square's own dashboard. */
  addRefund(chargeId: string, fields: Record<string, unknown>): string;
}

export interface SquareRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: Json;
}

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

// biome-ignore lint/suspicious/noExplicitAny: a double reads requests of every shape
type Json = any;

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Starts it on a free port; stopped after the test. */
export async function startScriptedSquare(t: TestContext): Promise<ScriptedSquare> {
  const square = new Scripted();
  await square.listen();
  t.after(() => square.close());
  return square;
}

class Scripted implements ScriptedSquare {
  readonly accessToken = 'EAAA-scripted';
  readonly requests: SquareRequest[] = [];
  merchant = 'MSCRIPTED';
  currency = 'EUR';
  pageItems = 100;
  listLagMs = 0;
  failsFromPage = Number.POSITIVE_INFINITY;
  turnsAway = false;
  holds = false;
  #repaired = false;
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));
  /** The first request and its reply, by path and idempotency key. */
  readonly #replies = new Map<string, { readonly asked: string; readonly reply: Reply }>();
  readonly #payments = new Map<string, Json>();
  readonly #refunds = new Map<string, Json>();
  readonly #wordsByPayment = new Map<string, string>();
  readonly #usedNonces = new Set<string>();
  /** Paths and idempotency keys of a pair of faults whose first request has arrived. */
  readonly #arrived = new Set<string>();

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

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

  repair(): void {
    this.#repaired = true;
    this.turnsAway = false;
    this.holds = false;
  }

  settle(id: string, status: string): void {
    const found = this.#payments.get(id) ?? this.#refunds.get(id);
    found.status = status;
  }

  addPayment(fields: Record<string, unknown>): string {
    const id = newId();
    const now = new Date().toISOString();
    const money = { amount: 1_000, currency: this.currency };
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

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(incoming.url ?? '', this.origin);
    const text = await readText(incoming);
    const request: SquareRequest = {
      method: incoming.method ?? '',
      path,
      query: Object.fromEntries(searchParams),
      headers: incoming.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    // The location is read once and is no part of a charge, so no script applies to it.
    if (path.startsWith('/v2/locations/')) return this.#location(request, response);
    this.requests.push(request);
    if (this.holds) return;
    const paired = this.#pairedFaultOf(request);
    if (paired === 'reset before') return void incoming.socket.resetAndDestroy();
    let reply = typeof paired === 'object' ? rejection([paired]) : this.#replyTo(request);
    const delivery = this.#repaired ? undefined : this.#scriptOf(request)?.delivery;
    if (delivery === 'held') return;
    if (delivery === 'dropped') return void incoming.socket.destroy();
    if (paired === 'reset after') return void incoming.socket.resetAndDestroy();
    if (delivery === 'error') reply = rejection([outOfOrder]);
    const body = JSON.stringify(reply.body);
    response.writeHead(reply.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    if (paired === 'cut')
      response.write(body.slice(0, body.length / 2), () => incoming.socket.resetAndDestroy());
    else response.end(body);
  }

  /** The effect of a pair on this request: a rejection, or the fault of its reply. */
  #pairedFaultOf(request: SquareRequest): Loss | SquareFault | undefined {
    const pair = this.#repaired || this.turnsAway ? undefined : this.#scriptOf(request)?.pair;
    if (pair === undefined) return undefined;
    const arrival = `${request.path} ${request.body.idempotency_key}`;
    if (this.#arrived.has(arrival)) return pair.rejection;
    this.#arrived.add(arrival);
    return pair.loss;
  }

  #location({ path, headers }: SquareRequest, response: ServerResponse): void {
    const asked = path.split('/')[3] ?? '';
    const location = { id: asked === 'main' ? 'LMAIN' : asked, merchant_id: this.merchant };
    const isKnown = headers.authorization === `Bearer ${this.accessToken}`;
    const reply: Reply = isKnown
      ? { status: 200, body: { location } }
      : rejection([fault(401, 'AUTHENTICATION_ERROR', 'UNAUTHORIZED')]);
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
  }

  /** `POST /v2/payments/cancel`: voids an approved payment; a missing payment is not an error. */
  #cancel(key: string): Reply {
    const paid = this.#replies.get(`/v2/payments ${key}`)?.reply.body as Json;
    const payment = this.#payments.get(paid?.payment?.id);
    if (payment?.status === 'COMPLETED')
      return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'BAD_REQUEST')]);
    if (payment?.status === 'APPROVED') payment.status = 'CANCELED';
    return { status: 200, body: {} };
  }

  /** The script of the token for this request; undefined for a request that only reads. */
  #scriptOf({ method, path, body }: SquareRequest): Script | undefined {
    if (method !== 'POST') return undefined;
    if (path === '/v2/refunds') return scripts[this.#wordsByPayment.get(body.payment_id) ?? '']?.refund;
    return path === '/v2/payments' ? scripts[wordOf(body.source_id)] : undefined;
  }

  #replyTo(request: SquareRequest): Reply {
    const { method, path, headers, body } = request;
    if (this.turnsAway) return rejection([fault(429, 'RATE_LIMIT_ERROR', 'RATE_LIMITED')]);
    if (headers.authorization !== `Bearer ${this.accessToken}`)
      return rejection([fault(401, 'AUTHENTICATION_ERROR', 'UNAUTHORIZED')]);
    if (method === 'GET') return this.#read(request);
    const key = body?.idempotency_key;
    if (typeof key !== 'string')
      return rejection([
        fault(400, 'INVALID_REQUEST_ERROR', 'MISSING_REQUIRED_PARAMETER', 'idempotency_key'),
      ]);
    if (key.length > 45)
      return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'VALUE_TOO_LONG', 'idempotency_key')]);
    if (path === '/v2/payments/cancel') return this.#cancel(key);
    const asked = JSON.stringify(body);
    const before = this.#replies.get(`${path} ${key}`);
    if (before !== undefined) {
      return before.asked === asked
        ? before.reply
        : rejection([fault(400, 'INVALID_REQUEST_ERROR', 'IDEMPOTENCY_KEY_REUSED', 'idempotency_key')]);
    }
    const reply = path === '/v2/payments' ? this.#pay(body) : this.#refund(body);
    // The reply to an executed request is stored, also of a failed payment; a rejection is not.
    if (reply.status === 200 || reply.status === 402) this.#replies.set(`${path} ${key}`, { asked, reply });
    return reply;
  }

  #pay(body: Json): Reply {
    const { source_id: token, amount_money: money, reference_id: reference, location_id = 'LMAIN' } = body;
    const script = scripts[isSingleUse(token) ? 'paid' : wordOf(token)];
    // Square sends no field here.
    if (script === undefined) return rejection([fault(404, 'INVALID_REQUEST_ERROR', 'NOT_FOUND')]);
    const wrong = wrongMoney(money, this.currency) ?? (reference?.length > 40 ? 'reference_id' : undefined);
    if (wrong !== undefined) return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'INVALID_VALUE', wrong)]);
    if (this.#usedNonces.has(token))
      return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'CARD_TOKEN_USED', 'source_id')]);
    if (isSingleUse(token)) this.#usedNonces.add(token);
    const failure = script.passes && this.#repaired ? undefined : script.fault;
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

  #refund(body: Json): Reply {
    const payment = this.#payments.get(body.payment_id);
    const script = scripts[this.#wordsByPayment.get(body.payment_id) ?? '']?.refund ?? {};
    if (payment === undefined)
      return rejection([fault(404, 'INVALID_REQUEST_ERROR', 'NOT_FOUND', 'payment_id')]);
    if (script.fault !== undefined && !(script.passes && this.#repaired)) return rejection([script.fault]);
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

  #read({ path, query }: SquareRequest): Reply {
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
    const items = Math.min(Number(limit ?? 100), this.pageItems);
    const offset = cursor === undefined ? 0 : Number(Buffer.from(cursor, 'base64url').toString());
    if (offset / items + 1 >= this.failsFromPage) return rejection([outOfOrder]);
    const requestedEnd = Date.parse(end ?? new Date().toISOString());
    const until = this.listLagMs === 0 ? requestedEnd : Math.min(requestedEnd, Date.now() - this.listLagMs);
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

function errorOf({ category, code, field }: SquareFault): unknown {
  // Square's sentences quote the request.
  return { category, code, detail: `Sent: ${field ?? 'a request'} of cnon: (${code})`, field };
}

function rejection(faults: readonly [SquareFault, ...SquareFault[]]): Reply {
  return { status: faults[0].status, body: { errors: faults.map(errorOf) } };
}

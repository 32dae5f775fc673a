import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { Delivery } from '../../../src/processors/reports.ts';
import { type SquareCharge, SquareLedger, type SquareRefund, type SquareSwitches } from './ledger.ts';
import { type Json, type Reply, rejection, type SquareRequest } from './request.ts';
import { fault, type Loss, outOfOrder, type Script, type SquareFault, scripts, wordOf } from './scripts.ts';

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
  readonly switches: SquareSwitches;
  /** From now on replies arrive, and the scripted faults end; stored replies stay the same. */
  repair(): void;
  /** Sets the status of a payment or refund, as Square does later. */
  settle(chargeId: string, status: string): void;
  /** Adds a payment of another system or of an earlier attempt. */
  addPayment(fields: Record<string, unknown>): string;
  /** Adds a refund that was made on Square's own dashboard. */
  addRefund(chargeId: string, fields: Record<string, unknown>): string;
}

/** Starts it on a free port; stopped after the test. */
export async function startScriptedSquare(t: TestContext): Promise<ScriptedSquare> {
  const server = new SquareServer(new SquareLedger());
  await server.listen();
  t.after(() => server.close());
  return handleOf(server);
}

function handleOf(server: SquareServer): ScriptedSquare {
  const { ledger, origin, requests } = server;
  return {
    origin,
    accessToken,
    requests,
    get charges() {
      return ledger.charges;
    },
    get refunds() {
      return ledger.refunds;
    },
    switches: ledger.switches,
    repair: () => server.repair(),
    settle: (id, status) => ledger.settle(id, status),
    addPayment: (fields) => ledger.addPayment(fields),
    addRefund: (chargeId, fields) => ledger.addRefund(chargeId, fields),
  };
}

const accessToken = 'EAAA-scripted';

/** Square's HTTP interface: authorization, idempotency keys, and replies that are late, lost or wrong. */
class SquareServer {
  readonly ledger: SquareLedger;
  readonly requests: SquareRequest[] = [];
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));
  /** The first request and its reply, by path and idempotency key. */
  readonly #replies = new Map<string, { readonly asked: string; readonly reply: Reply }>();
  /** Paths and idempotency keys of a pair of faults whose first request has arrived. */
  readonly #arrived = new Set<string>();

  constructor(ledger: SquareLedger) {
    this.ledger = ledger;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  repair(): void {
    this.ledger.isRepaired = true;
    Object.assign(this.ledger.switches, { turnsAway: false, holds: false });
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
    if (this.ledger.switches.holds) return;
    const paired = this.#pairedFaultOf(request);
    if (paired === 'reset before') return void incoming.socket.resetAndDestroy();
    let reply = typeof paired === 'object' ? rejection([paired]) : this.#replyTo(request);
    const delivery = this.ledger.isRepaired ? undefined : this.#scriptOf(request)?.delivery;
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
    const pair =
      this.ledger.isRepaired || this.ledger.switches.turnsAway ? undefined : this.#scriptOf(request)?.pair;
    if (pair === undefined) return undefined;
    const arrival = `${request.path} ${request.body.idempotency_key}`;
    if (this.#arrived.has(arrival)) return pair.rejection;
    this.#arrived.add(arrival);
    return pair.loss;
  }

  #location({ path, headers }: SquareRequest, response: ServerResponse): void {
    const asked = path.split('/')[3] ?? '';
    const location = { id: asked === 'main' ? 'LMAIN' : asked, merchant_id: this.ledger.switches.merchant };
    const isKnown = headers.authorization === `Bearer ${accessToken}`;
    const reply: Reply = isKnown
      ? { status: 200, body: { location } }
      : rejection([fault(401, 'AUTHENTICATION_ERROR', 'UNAUTHORIZED')]);
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
  }

  /** The script of the token for this request; undefined for a request that only reads. */
  #scriptOf({ method, path, body }: SquareRequest): Script | undefined {
    if (method !== 'POST') return undefined;
    if (path === '/v2/refunds') return scripts[this.ledger.wordOf(body.payment_id)]?.refund;
    return path === '/v2/payments' ? scripts[wordOf(body.source_id)] : undefined;
  }

  #replyTo(request: SquareRequest): Reply {
    const { method, path, headers, body } = request;
    if (this.ledger.switches.turnsAway) return rejection([fault(429, 'RATE_LIMIT_ERROR', 'RATE_LIMITED')]);
    if (headers.authorization !== `Bearer ${accessToken}`)
      return rejection([fault(401, 'AUTHENTICATION_ERROR', 'UNAUTHORIZED')]);
    if (method === 'GET') return this.ledger.read(request);
    const key = body?.idempotency_key;
    if (typeof key !== 'string')
      return rejection([
        fault(400, 'INVALID_REQUEST_ERROR', 'MISSING_REQUIRED_PARAMETER', 'idempotency_key'),
      ]);
    if (key.length > 45)
      return rejection([fault(400, 'INVALID_REQUEST_ERROR', 'VALUE_TOO_LONG', 'idempotency_key')]);
    if (path === '/v2/payments/cancel')
      return this.ledger.cancel((this.#replies.get(`/v2/payments ${key}`)?.reply.body as Json)?.payment?.id);
    const asked = JSON.stringify(body);
    const before = this.#replies.get(`${path} ${key}`);
    if (before !== undefined) {
      return before.asked === asked
        ? before.reply
        : rejection([fault(400, 'INVALID_REQUEST_ERROR', 'IDEMPOTENCY_KEY_REUSED', 'idempotency_key')]);
    }
    const reply = path === '/v2/payments' ? this.ledger.pay(body) : this.ledger.refund(body);
    // The reply to an executed request is stored, also of a failed payment; a rejection is not.
    if (reply.status === 200 || reply.status === 402) this.#replies.set(`${path} ${key}`, { asked, reply });
    return reply;
  }
}

/** A delivery of an event, signed as https://developer.squareup.com/docs/webhooks/step3validate describes. */
export function signedDelivery(
  event: unknown,
  { key, url }: { readonly key: string; readonly url: string },
): Delivery {
  const body = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event));
  const signature = createHmac('sha256', key).update(url).update(body).digest('base64');
  const headers = { 'content-type': 'application/json', 'x-square-hmacsha256-signature': signature };
  return { headers, body, receivedAt: Date.now() };
}

/** An event around an object: `payment.updated` around `{ payment }`. */
export function squareEvent(type: string, object: Record<string, unknown>): Record<string, unknown> {
  return {
    merchant_id: 'ML8M1AQ1GQG2K',
    type,
    event_id: '13b867cf-db3d-4b1c-90b6-2f32a9d78124',
    created_at: '2026-11-20T10:00:00.250Z',
    data: { type: Object.keys(object)[0], id: 'of-no-use', object },
  };
}

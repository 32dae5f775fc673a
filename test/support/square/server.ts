import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { SquareLedger } from './ledger.ts';
import { type Json, type Reply, rejection, type SquareRequest } from './request.ts';
import { fault, type Loss, outOfOrder, type Script, type SquareFault, scripts, wordOf } from './scripts.ts';

export const accessToken = 'EAAA-scripted';

/** Square's HTTP interface: authorization, idempotency keys, and replies that are late, lost or wrong. */
export class SquareServer {
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

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson, text as readText } from 'node:stream/consumers';
import { type Command, carryOut } from './control.ts';
import { send, spoil, spoilingOf } from './delivery.ts';
import { replyTo } from './endpoints.ts';
import { onceByKey } from './keys.ts';
import type { StripeLedger } from './ledger.ts';
import { pairedFaultOf } from './pairs.ts';
import { badKey, given, invalid, type Reply, tooManyRequests } from './replies.ts';
import type { StripeRequest } from './request.ts';
import type { Fault } from './script.ts';

/** A Stripe on a loopback port. `/control` is for tests: GET returns requests and records, POST accepts a `Command`. */
export class StripeServer {
  readonly ledger: StripeLedger;
  /** Every request that reached it, including rejected ones. */
  readonly requests: StripeRequest[] = [];
  #droppedLate = 0;
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  constructor(ledger: StripeLedger) {
    this.ledger = ledger;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** @param port 0 for a free one */
  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.url === '/control') return this.#control(incoming, response);
    const request = await requestOf(incoming);
    // The account is read once and is no part of a charge, so no script applies to it.
    if (request.path === '/v1/account') return send(response, this.#account(request), requestId());
    this.requests.push(request);
    if (this.ledger.switches.holds) return;
    const rejection = this.#rejection(request);
    if (rejection !== undefined) return send(response, rejection, requestId());
    const spoiling = spoilingOf(this.ledger, request);
    const paired = pairedFaultOf(this.ledger, request, spoiling.pair);
    this.ledger.write();
    if (paired !== undefined && 'rejection' in paired) return send(response, paired.rejection, requestId());
    if (paired !== undefined && 'isLostBefore' in paired) return void incoming.socket.resetAndDestroy();
    const { reply, isReplayed } = await onceByKey(this.ledger, request, () => replyTo(this.ledger, request));
    this.ledger.write();
    const fault = this.#faultOf(reply, paired?.fault ?? spoiling.fault);
    if (fault === undefined) {
      return send(response, reply, {
        ...requestId(),
        ...(isReplayed ? { 'idempotent-replayed': 'true' } : {}),
      });
    }
    // The first reply is dropped late and later ones never come, so that a hidden retry makes the wait longer.
    const isHeld = fault === 'dropped late' && this.#droppedLate++ > 0;
    spoil(response, reply, isHeld ? 'held' : fault);
  }

  /** The fault of a reply. It may have been repaired while the request was processed. */
  #faultOf({ isUnprocessed }: Reply, fault: Fault | undefined): Fault | undefined {
    return isUnprocessed || this.ledger.switches.isRepaired ? undefined : fault;
  }

  #account({ headers }: StripeRequest): Reply {
    if (headers.authorization !== `Bearer ${this.ledger.switches.key}`) return badKey();
    return given({ id: this.ledger.switches.account, object: 'account' });
  }

  /** The rejection of a request before the idempotency layer, if any. */
  #rejection({ method, headers }: StripeRequest): Reply | undefined {
    if (this.ledger.switches.turnsAway) return tooManyRequests();
    if (headers.authorization !== `Bearer ${this.ledger.switches.key}`) return badKey();
    const isForm = method === 'GET' || headers['content-type'] === 'application/x-www-form-urlencoded';
    if (!isForm || !headers['stripe-version']) {
      return invalid({ message: 'Not a form, or without Stripe-Version' });
    }
    return undefined;
  }

  async #control(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.method === 'POST') {
      const command = (await readJson(incoming)) as Command;
      try {
        carryOut(this.ledger, command);
      } catch (error) {
        // The test is at fault, or its intent has changed meanwhile: this process goes on.
        return send(response, { status: 400, body: { error: String(error) } }, {});
      }
    }
    const body = { requests: this.requests, records: this.ledger.records() };
    send(response, { status: 200, body }, {});
  }
}

async function requestOf(incoming: IncomingMessage): Promise<StripeRequest> {
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://127.0.0.1');
  const form = new URLSearchParams(await readText(incoming));
  const fields = Object.fromEntries([...searchParams, ...form]);
  return { method: incoming.method ?? '', path: pathname, headers: incoming.headers, fields };
}

function requestId(): Record<string, string> {
  return { 'request-id': `req_${randomBytes(7).toString('hex')}` };
}

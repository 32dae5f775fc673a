import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen, requestOf } from './dynalite.ts';
import type { DynamoReply, DynamoRequest } from './request.ts';

/**
 * The fault of one request. `drop request`: it never reaches the engine. `drop reply`: the engine replies, `meanwhile`
 * runs, and the connection is closed. `cut reply`: half of the reply is sent. `hang`: there is no reply. `reply`: the
 * proxy sends this reply itself, instead of a call to the engine, or `after` the engine has executed the request.
 */
export type Fault =
  | { readonly kind: 'drop request' | 'cut reply' | 'hang' }
  | { readonly kind: 'drop reply'; readonly meanwhile?: () => Promise<unknown> }
  | { readonly kind: 'reply'; readonly reply: DynamoReply; readonly after?: boolean }
  | { readonly kind: 'delay'; readonly delayMs: number };

/** @param count which request of this operation it is, from 1 */
export type Script = (
  request: DynamoRequest,
  count: number,
) => Fault | undefined | Promise<Fault | undefined>;

export const dropRequest: Fault = { kind: 'drop request' };
export const dropReply: Fault = { kind: 'drop reply' };
export const cutReply: Fault = { kind: 'cut reply' };
export const hang: Fault = { kind: 'hang' };

// biome-ignore lint/suspicious/noExplicitAny: each operation has a shape of its own
type Json = any;

const prefix = 'com.amazonaws.dynamodb.v20120810#';

/** An error in the format of the API. */
export function apiError(name: string, more: object = {}, status = 400): Fault {
  const from = /Throttling|UnrecognizedClient|AccessDenied/.test(name) ? 'com.amazon.coral.service#' : prefix;
  const body = { __type: `${from}${name}`, message: `${name}, by the script of a test`, ...more };
  return { kind: 'reply', reply: { status, body } };
}

export const throttled = apiError('ProvisionedThroughputExceededException');
export const tooFast = apiError('ThrottlingException');
export const failedBefore = apiError('InternalServerError', {}, 500);
export const failedAfter: Fault = { ...failedBefore, after: true } as Fault;
export const inProgress = apiError('TransactionInProgressException');
export const unknownClient = apiError('UnrecognizedClientException');
export const accessDenied = apiError('AccessDeniedException');
export const conflicting = apiError('TransactionCanceledException', {
  CancellationReasons: [{ Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' }],
});

const metered = new Set(['GetItem', 'PutItem', 'Query', 'Scan', 'TransactWriteItems']);
const writing = new Set(['PutItem', 'TransactWriteItems']);

/** Consumed capacity units. */
export interface Units {
  readonly read: number;
  readonly write: number;
}

/**
 * A proxy on loopback in front of an engine. It injects the faults of a script, and counts requests and capacity units.
 */
export class FaultProxy {
  readonly endpoint: string;
  script: Script = () => undefined;
  /** Selects the requests whose units are counted. */
  isMetered: (request: DynamoRequest) => boolean = () => true;
  readonly #counts = new Map<string, number>();
  readonly #units = new Map<string, number>();

  readonly #server: Server;

  private constructor(endpoint: string, server: Server) {
    this.endpoint = endpoint;
    this.#server = server;
  }

  /** @param target the engine */
  static async open(target: string): Promise<FaultProxy> {
    const server = createServer((message, response) => {
      proxy.#take(target, message, response).catch(() => response.destroy());
    });
    const proxy = new FaultProxy(await listen(server), server);
    return proxy;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The number of requests so far, of one operation or of all. */
  count(operation?: string): number {
    if (operation !== undefined) return this.#counts.get(operation) ?? 0;
    return this.#counts.values().reduce((sum, count) => sum + count, 0);
  }

  /** The units consumed so far by operations that the engine has executed. */
  get units(): Units {
    const sumOf = (isWrite: boolean) =>
      this.#units.entries().reduce((sum, [name, n]) => (writing.has(name) === isWrite ? sum + n : sum), 0);
    return { read: sumOf(false), write: sumOf(true) };
  }

  /** Resets the counts. */
  reset(): void {
    this.#counts.clear();
    this.#units.clear();
  }

  async #take(target: string, message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await requestOf(message);
    const count = this.count(request.operation) + 1;
    this.#counts.set(request.operation, count);
    const fault = await this.script(request, count);
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'drop request') return void response.destroy();
    if (fault?.kind === 'reply' && !fault.after) return send(response, fault.reply);
    if (fault?.kind === 'delay') await sleep(fault.delayMs);
    const reply = await this.#forward(target, message, request);
    if (fault?.kind === 'drop reply') {
      await fault.meanwhile?.();
      return void response.destroy();
    }
    if (fault?.kind === 'cut reply') return cut(response, reply);
    send(response, fault?.kind === 'reply' ? fault.reply : reply);
  }

  async #forward(
    target: string,
    { headers }: IncomingMessage,
    { operation, body }: DynamoRequest,
  ): Promise<DynamoReply> {
    const meteredBody = metered.has(operation) ? { ...body, ReturnConsumedCapacity: 'TOTAL' } : body;
    const reply = await fetch(target, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': String(headers['x-amz-target']),
        'x-amz-date': String(headers['x-amz-date']),
        authorization: String(headers.authorization),
      },
      body: JSON.stringify(meteredBody),
    });
    const replyBody = (await reply.json()) as Json;
    if (reply.status === 200 && this.isMetered({ operation, body }))
      this.#units.set(operation, (this.#units.get(operation) ?? 0) + unitsOf({ operation, body }, replyBody));
    return { status: reply.status, body: replyBody };
  }
}

/**
 * The units as DynamoDB counts them. The engines of the tests differ in two cases: a consistent query without a match
 * takes one unit, and a transaction takes two for each KB of each item.
 */
function unitsOf({ operation, body }: DynamoRequest, { ConsumedCapacity: consumed }: Json): number {
  if (operation === 'TransactWriteItems')
    return body.TransactItems.reduce((sum: number, action: Json) => sum + 2 * kilobytes(action), 0);
  const units = consumed?.CapacityUnits ?? 0;
  return operation === 'Query' ? Math.max(1, units) : units;
}

/** The size of the written item; for an update, the larger one of the expected and the new value. */
function kilobytes(action: Json): number {
  const [{ Item, Key, ExpressionAttributeValues: values = {} }] = Object.values(action) as [Json];
  const larger = Math.max(0, ...Object.values(values).map((value) => bytesOf({ value })));
  return Math.max(1, Math.ceil((Item === undefined ? bytesOf(Key) + larger : bytesOf(Item)) / 1024));
}

function bytesOf(attributes: Json): number {
  return Object.entries(attributes as Record<string, { S: string }>).reduce(
    (sum, [name, { S }]) => sum + name.length + Buffer.byteLength(S),
    0,
  );
}

function send(response: ServerResponse, { status, body }: DynamoReply): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
}

function cut(response: ServerResponse, { status, body }: DynamoReply): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/x-amz-json-1.0',
    'content-length': String(bytes.length),
  });
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

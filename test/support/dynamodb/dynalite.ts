import type { Server } from 'node:http';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Transactions } from './transactions.ts';

/** Of dynalite, which brings no types. */
type Dynalite = (options: object) => Server;

export interface DynamoServer {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** What a request asks for. */
export interface DynamoRequest {
  readonly operation: string;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has a shape of its own
  readonly body: any;
}

export interface DynamoReply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has a shape of its own
  readonly body: any;
}

/**
 * dynalite on loopback, and before it what it lacks: transactions, the item that stood against a condition, and
 * continuous backups. One request is answered at a time, so that a transaction is alone.
 */
export async function serveDynalite(): Promise<DynamoServer> {
  const dynalite = createRequire(import.meta.url)('dynalite') as Dynalite;
  const inner = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  const origin = await listen(inner);
  const transactions = new Transactions((request) => ask(origin, request));
  let last: Promise<unknown> = Promise.resolve();
  const outer = createServer((request, response) => {
    const answering = last.then(() => answer(request, response, origin, transactions));
    last = answering.catch(() => response.destroy());
  });
  const endpoint = await listen(outer);
  return {
    endpoint,
    close: async () => {
      for (const server of [outer, inner]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function ask(origin: string, { operation, body }: DynamoRequest): Promise<DynamoReply> {
  const response = await fetch(origin, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${operation}`,
      'x-amz-date': '20261121T000000Z',
      authorization: 'AWS4-HMAC-SHA256 Credential=test, SignedHeaders=host, Signature=none',
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

export async function requestOf(message: IncomingMessage): Promise<DynamoRequest> {
  const operation = String(message.headers['x-amz-target']).split('.').at(-1) as string;
  return { operation, body: JSON.parse((await buffer(message)).toString()) };
}

export function send(response: ServerResponse, { status, body }: DynamoReply): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(text);
}

async function answer(
  message: IncomingMessage,
  response: ServerResponse,
  origin: string,
  transactions: Transactions,
): Promise<void> {
  const request = await requestOf(message);
  send(response, await replyTo(request, origin, transactions));
}

async function replyTo(
  request: DynamoRequest,
  origin: string,
  transactions: Transactions,
): Promise<DynamoReply> {
  const { operation, body } = request;
  if (operation === 'TransactWriteItems') return transactions.write(body);
  if (operation === 'UpdateContinuousBackups') return { status: 200, body: {} };
  const { ReturnValuesOnConditionCheckFailure: returned, ...known } = body;
  const reply = await ask(origin, { operation, body: known });
  if (returned !== 'ALL_OLD' || !String(reply.body.__type).endsWith('ConditionalCheckFailedException'))
    return reply;
  return { ...reply, body: { ...reply.body, Item: await transactions.itemOf(body) } };
}

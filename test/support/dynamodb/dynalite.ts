import type { Server } from 'node:http';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { DynamoReply, DynamoRequest } from './request.ts';
import { Transactions } from './transactions.ts';

const require = createRequire(import.meta.url);
// biome-ignore lint/suspicious/noExplicitAny: dynalite brings no types
const load = (name: string): any => require(`dynalite/${name}`);
const validations = load('validations');

export interface DynamoServer {
  readonly endpoint: string;
  close(): Promise<void>;
}

/**
 * dynalite on loopback, with the features that it lacks: transactions, the item that failed a condition, and continuous
 * backups. Requests are processed one at a time, so that transactions are isolated.
 */
export async function serveDynalite(): Promise<DynamoServer> {
  const store = load('db').create({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  const call = (request: DynamoRequest) => callDynalite(store, request);
  const transactions = new Transactions(call);
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer((message, response) => {
    const processing = last.then(async () =>
      send(response, await replyTo(await requestOf(message), call, transactions)),
    );
    last = processing.catch(() => response.destroy());
  });
  const endpoint = await listen(server);
  return {
    endpoint,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await new Promise((resolve) => store.db.close(resolve));
    },
  };
}

/** Processes a request as dynalite's own server does, without a socket. */
async function callDynalite(store: unknown, { operation, body }: DynamoRequest): Promise<DynamoReply> {
  const name = validations.toLowerFirst(operation);
  const { types, custom } = load(`validations/${name}`);
  try {
    const data = validations.checkTypes(body, types);
    validations.checkValidations(data, types, custom, store);
    return await new Promise((resolve, reject) => {
      load(`actions/${name}`)(store, data, (error: unknown, response: object) =>
        error ? reject(error) : resolve({ status: 200, body: response }),
      );
    });
  } catch (error) {
    const { statusCode: status, body } = error as { statusCode?: number; body?: object };
    if (status === undefined) throw error;
    return { status, body };
  }
}

export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function requestOf(message: IncomingMessage): Promise<DynamoRequest> {
  const operation = String(message.headers['x-amz-target']).split('.').at(-1) as string;
  return { operation, body: JSON.parse((await buffer(message)).toString()) };
}

export function send(response: ServerResponse, { status, body }: DynamoReply): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(text);
}

async function replyTo(
  request: DynamoRequest,
  call: (request: DynamoRequest) => Promise<DynamoReply>,
  transactions: Transactions,
): Promise<DynamoReply> {
  const { operation, body } = request;
  if (operation === 'TransactWriteItems') return transactions.write(body);
  if (operation === 'UpdateContinuousBackups') return { status: 200, body: {} };
  const { ReturnValuesOnConditionCheckFailure: returned, ...known } = body;
  const reply = await call({ operation, body: known });
  if (returned !== 'ALL_OLD' || !String(reply.body.__type).endsWith('ConditionalCheckFailedException'))
    return reply;
  return { ...reply, body: { ...reply.body, Item: await transactions.itemOf(body) } };
}

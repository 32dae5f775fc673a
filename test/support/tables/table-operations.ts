import { setTimeout as sleep } from 'node:timers/promises';
import { busyMachineMs } from '../busy-machine.ts';
import type { Caller, Outcome } from '../caller.ts';

/** The operations of a table as requests. */

export type ItemWrite =
  | { readonly kind: 'create' | 'update'; readonly id: string; readonly name: string }
  | { readonly kind: 'delete'; readonly id: string };

export interface Item {
  readonly id: string;
  readonly name: string;
}

/** The pause before a shed request is sent again. */
const shedPauseMs = 50;

const methods = { create: 'POST', update: 'PUT', delete: 'DELETE' } as const;
const successes = {
  create: '{"statusCode":200,"body":{"msg":"Item added to table","complete":true}}',
  update: '{"statusCode":200,"body":{"message":"Item updated"}}',
  delete: '{"statusCode":200,"body":{"message":"Item deleted"}}',
} as const;
const batchWritten = '{"statusCode":200,"body":{"message":"Batch written"}}';
/** The status of a write whose condition does not hold. */
export const rejectionStatuses = { create: 409, update: 404, delete: 404 } as const;

export function tablePath(table: string, operation: string): string {
  return `/v3/table/${table}/${operation}`;
}

/** @param only the id of a single item; without it, the whole table is read */
export function readTable(caller: Caller, table: string, only?: string): Promise<Outcome> {
  const query = only === undefined ? '' : `?id=${encodeURIComponent(only)}`;
  return sendUntilAdmitted(caller, 'GET', tablePath(table, 'read') + query);
}

/** Sends one write by its own route, and several as a batch. */
export function writeTable(caller: Caller, table: string, writes: readonly ItemWrite[]): Promise<Outcome> {
  const [first] = writes;
  if (first === undefined) throw new RangeError('nothing to write');
  if (writes.length > 1)
    return sendUntilAdmitted(caller, 'POST', tablePath(table, 'batch'), { writes: writes.map(inBatch) });
  return sendUntilAdmitted(caller, methods[first.kind], tablePath(table, first.kind), fieldsOf(first));
}

/** Retries a request that a service on a busy machine sheds. A shed request has no effect. */
async function sendUntilAdmitted(
  caller: Caller,
  ...[method, path, body]: readonly [method: string, path: string, body?: unknown]
): Promise<Outcome> {
  const giveUpAt = performance.now() + busyMachineMs;
  for (;;) {
    const outcome = await caller.send(method, path, body);
    if (!isShed(outcome) || performance.now() > giveUpAt) return outcome;
    await sleep(shedPauseMs);
  }
}

export function isShed(response: Outcome): boolean {
  return (
    response.kind === 'responded' && response.status === 503 && response.text.includes('"code":"overloaded"')
  );
}

/** `done`: acknowledged as documented; `rejected`: a condition did not hold; `failed`: anything else. */
export function resultOf(
  writes: readonly ItemWrite[],
  response: Extract<Outcome, { kind: 'responded' }>,
): 'done' | 'rejected' | 'failed' {
  const [first] = writes as readonly [ItemWrite];
  if (writes.length > 1) {
    if (response.text === batchWritten) return 'done';
    return response.status === 409 || response.status === 404 ? 'rejected' : 'failed';
  }
  if (response.text === successes[first.kind]) return 'done';
  return response.status === rejectionStatuses[first.kind] ? 'rejected' : 'failed';
}

/** The items of a response to `read`. Throws if they are malformed, out of order or duplicated. */
export function itemsIn(text: string): Item[] {
  const { statusCode, body, ...more } = JSON.parse(text) as { statusCode: number; body: Item[] };
  if (statusCode !== 200 || !Array.isArray(body) || Object.keys(more).length > 0)
    throw new Error(`not a response to read: ${text.slice(0, 200)}`);
  let before = Buffer.alloc(0);
  for (const item of body) {
    checkItem(item);
    const key = Buffer.from(item.id);
    if (Buffer.compare(before, key) >= 0) throw new Error(`"${item.id}" comes after "${before}"`);
    before = key;
  }
  return body;
}

/** The item of a response to `read?id=`. */
export function itemIn(text: string): Item {
  const { body } = JSON.parse(text) as { body: Item };
  checkItem(body);
  return body;
}

function checkItem(item: Item): void {
  const { id, name } = item;
  if (typeof id !== 'string' || typeof name !== 'string' || Object.keys(item).length !== 2)
    throw new Error(`not an item: ${JSON.stringify(item).slice(0, 200)}`);
}

/** The complete items in a truncated response. */
export function itemsInPart(text: string): Item[] {
  const items = text.matchAll(/\{"id":"(?:[^"\\]|\\.)*","name":"(?:[^"\\]|\\.)*"\}/g);
  return [...items].map(([item]) => JSON.parse(item) as Item);
}

function fieldsOf(write: ItemWrite): object {
  return write.kind === 'delete' ? { id: write.id } : { id: write.id, name: write.name };
}

function inBatch(write: ItemWrite): object {
  return { [write.kind]: fieldsOf(write) };
}

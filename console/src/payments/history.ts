import type { Counterfoil, Payment } from '@counterfoil/client';
import {
  clockDifferenceMs,
  firstWindowMs,
  paymentsPerLook,
  paymentsPerPage,
  paymentsPerWindowMax,
  shortestWindowMs,
} from '../limits.ts';
import type { Place } from '../service.ts';

/** A payment, and the route that it was made on. */
export interface Row extends Payment {
  readonly route: string;
}

/** Where the next search for older payments begins. */
export interface Look {
  /** Milliseconds since 1970. */
  readonly before: number;
  readonly windowMs: number;
}

export interface Past {
  readonly rows: readonly Row[];
  /** The next search; undefined if there are no older payments. */
  readonly next: Look | undefined;
}

interface Reading {
  readonly client: Counterfoil;
  readonly places: readonly Place[];
  readonly signal?: AbortSignal | undefined;
}

export function firstLook(): Look {
  return { before: Date.now() + clockDifferenceMs, windowMs: firstWindowMs };
}

/**
 * Payments from a time backwards, newest first. The service lists payments only forwards, from any time on. So this
 * reads one window of time after another. The windows become longer if there are few payments, and shorter if there are
 * many.
 */
export async function lookBack(reading: Reading, look: Look): Promise<Past> {
  const beginning = await oldestOf(reading);
  const rows: Row[] = [];
  let { before, windowMs } = look;
  while (before > beginning) {
    const from = before - windowMs;
    // The shortest window is always read whole, even if it has many payments.
    const rowsMax = windowMs > shortestWindowMs ? paymentsPerWindowMax : Number.POSITIVE_INFINITY;
    const found = await windowOf(reading, from, before, rowsMax);
    if (found === undefined) {
      windowMs = Math.max(shortestWindowMs, windowMs / 8);
      continue;
    }
    rows.push(...found);
    before = from;
    if (rows.length >= paymentsPerLook) break;
    windowMs *= 4;
  }
  return { rows: newestFirst(rows), next: before > beginning ? { before, windowMs } : undefined };
}

/** The payments since the newest known one. @param since milliseconds since 1970 */
export async function newsSince({ client, places, signal }: Reading, since: number): Promise<readonly Row[]> {
  const found = places.map((place) => listFrom(client, place, since - clockDifferenceMs, signal));
  return newestFirst((await Promise.all(found)).flat());
}

/** Merges payments. If an id occurs twice, the later argument is newer. */
export function merged(...lists: readonly (readonly Row[])[]): readonly Row[] {
  return newestFirst([...new Map(lists.flat().map((row) => [row.id, row])).values()]);
}

/** Sorts by id, because ids sort by the time of the payment. */
function newestFirst(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => (one.id < other.id ? 1 : -1));
}

/** The time of the oldest payment; infinite if there is none. */
async function oldestOf({ client, places, signal }: Reading): Promise<number> {
  const first = places.map(async (place) => {
    const { payments } = await client.payments.list({ ...place, limit: 1, signal });
    return payments[0] === undefined ? Number.POSITIVE_INFINITY : Date.parse(payments[0].created_at);
  });
  return Math.min(Number.POSITIVE_INFINITY, ...(await Promise.all(first)));
}

/** Undefined if a route has `rowsMax` payments or more in this window. */
async function windowOf(
  { client, places, signal }: Reading,
  from: number,
  before: number,
  rowsMax: number,
): Promise<Row[] | undefined> {
  const found = await Promise.all(
    places.map(async (place) => {
      const rows = await listFrom(client, place, from, signal, before, rowsMax);
      return rows.filter(({ created_at }) => Date.parse(created_at) < before);
    }),
  );
  return found.some(({ length }) => length >= rowsMax) ? undefined : found.flat();
}

/** Payments of one route from a time on, up to another time, and up to `rowsMax` if it is given. */
async function listFrom(
  client: Counterfoil,
  place: Place,
  from: number,
  signal: AbortSignal | undefined,
  before = Number.POSITIVE_INFINITY,
  rowsMax = Number.POSITIVE_INFINITY,
): Promise<Row[]> {
  const rows: Row[] = [];
  const since = new Date(Math.max(0, from)).toISOString();
  let after: string | undefined;
  do {
    const start = after === undefined ? { since } : { after };
    const { payments, next } = await client.payments.list({
      ...place,
      ...start,
      limit: paymentsPerPage,
      signal,
    });
    rows.push(...payments.map((payment) => ({ ...payment, route: place.route })));
    const last = payments.at(-1);
    if (last !== undefined && Date.parse(last.created_at) >= before) break;
    after = next;
  } while (after !== undefined && rows.length < rowsMax);
  return rows;
}

import type { Row } from './history.ts';

/** The filters of the list, as in the address of the view. */
export interface Filters {
  readonly q?: string;
  readonly status?: string;
  /** `processor/route` */
  readonly place?: string;
  /** Dates in the zone of the reader: 2026-11-21. */
  readonly from?: string;
  readonly to?: string;
  /** Amounts as the reader typed them, in the unit of each payment's currency. */
  readonly min?: string;
  readonly max?: string;
}

const names = ['q', 'status', 'place', 'from', 'to', 'min', 'max'] as const;

export function filtersOf(search: Readonly<Record<string, unknown>>): Filters {
  return Object.fromEntries(
    names.flatMap((name) =>
      typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [],
    ),
  );
}

/** The beginning of a day in the zone of the reader, in milliseconds since 1970; undefined if the text is not a day. */
export function dayOf(text: string | undefined, days = 0): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? '') ?? [];
  return year === undefined
    ? undefined
    : new Date(Number(year), Number(month) - 1, Number(day) + days).getTime();
}

/** @param decimals of the currency */
export function matches(row: Row, filters: Filters, decimals: number): boolean {
  const { status, place, q } = filters;
  if (status !== undefined && row.status !== status) return false;
  if (place !== undefined && `${row.processor}/${row.route}` !== place) return false;
  const madeAt = Date.parse(row.created_at);
  if (madeAt < (dayOf(filters.from) ?? 0)) return false;
  if (madeAt >= (dayOf(filters.to, 1) ?? Number.POSITIVE_INFINITY)) return false;
  const amount = row.amount / 10 ** decimals;
  if (amount < bound(filters.min, 0) || amount > bound(filters.max, Number.POSITIVE_INFINITY)) return false;
  return q === undefined || contains(row, q.trim().toLowerCase());
}

function bound(text: string | undefined, otherwise: number): number {
  const number = Number((text ?? '').replace(',', '.'));
  return text === undefined || Number.isNaN(number) ? otherwise : number;
}

function contains({ id, charge_id, description, metadata }: Row, text: string): boolean {
  return [id, charge_id, description, ...Object.entries(metadata).flat()].some((each) =>
    each?.toLowerCase().includes(text),
  );
}

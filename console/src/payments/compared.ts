import { dayOf } from './filters.ts';

/** The processor and the period that are compared, as in the address of the view. */
export interface Compared {
  readonly processor?: string;
  /** Days in the zone of the reader: 2026-11-21. Without days, the period is the last 24 hours. */
  readonly from?: string;
  readonly to?: string;
}

export function comparedOf(search: Readonly<Record<string, unknown>>): Compared {
  const names = ['processor', 'from', 'to'] as const;
  return Object.fromEntries(
    names.flatMap((name) =>
      typeof search[name] === 'string' && search[name] !== '' ? [[name, search[name]]] : [],
    ),
  );
}

/** The period for the request. */
export function periodOf({ from, to }: Compared): { readonly from?: string; readonly until?: string } {
  const [begin, end] = [dayOf(from), dayOf(to, 1)];
  return {
    ...(begin === undefined ? {} : { from: new Date(begin).toISOString() }),
    ...(end === undefined ? {} : { until: new Date(end).toISOString() }),
  };
}

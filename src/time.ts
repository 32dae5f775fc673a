const pattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d))?$/;

/** Milliseconds since 1970 of a date or timestamp (RFC 3339); undefined for anything else, also for 30 February. */
export function parseTimestamp(text: string): number | undefined {
  const day = pattern.exec(text)?.[1];
  const time = day === undefined || !isDay(day) ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** `Date.parse` reads 30 February as 2 March. */
function isDay(day: string): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds of `30m`, `24h` or `90d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * unitsMs[unit as keyof typeof unitsMs];
}

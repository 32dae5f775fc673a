const pattern = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d))?$/;

/** Milliseconds since 1970 of a date or timestamp (RFC 3339); undefined for anything else, also for 30 February. */
export function timestampOf(text: string): number | undefined {
  const day = pattern.exec(text)?.[1];
  const time = day === undefined || !isDay(day) ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** `Date.parse` reads 30 February as 2 March. */
function isDay(day: string): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

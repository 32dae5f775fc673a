import { durationOf } from '../duration.ts';
import { SettingsError } from '../errors.ts';

/** Refuses what is no duration. */
export function duration(option: string, text: string): number {
  const ms = durationOf(text);
  if (ms === undefined) throw new SettingsError([`${option}: must be a duration such as 30m, 24h or 90d`]);
  return ms;
}

/** Milliseconds since 1970 of a date or moment (RFC 3339). Refuses anything else, and days that no calendar has. */
export function moment(option: string, text: string): number {
  const [day] = /^\d{4}-\d\d-\d\d(?=$|T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$)/.exec(text) ?? [];
  const time = day === undefined || !isDay(day) ? Number.NaN : Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new SettingsError([`${option}: must be a date (2026-11-21) or a moment (2026-11-21T10:00:00Z)`]);
}

/** The 30th of February reads as the 2nd of March. */
function isDay(day: string): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

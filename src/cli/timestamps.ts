import { durationOf } from '../duration.ts';
import { SettingsError } from '../errors.ts';
import { timestampOf } from '../timestamps.ts';

/** Throws SettingsError if the text is not a duration. */
export function duration(option: string, text: string): number {
  const ms = durationOf(text);
  if (ms === undefined) throw new SettingsError([`${option}: must be a duration such as 30m, 24h or 90d`]);
  return ms;
}

/** Milliseconds since 1970 of a date or timestamp (RFC 3339). Throws SettingsError for anything else. */
export function moment(option: string, text: string): number {
  const time = timestampOf(text);
  if (time !== undefined) return time;
  throw new SettingsError([`${option}: must be a date (2026-11-21) or a timestamp (2026-11-21T10:00:00Z)`]);
}

import { parseDuration, parseTimestamp } from '../time.ts';
import { UsageError } from './problems.ts';

/** Parsers of option values. Each takes the name of the option for its message, and throws UsageError. */

const wholeNumberPattern = /^[1-9]\d{0,8}$/;
const amountPattern = /^\d{1,9}(\.\d{1,3})?$/;

/** Milliseconds of a duration such as `24h`. */
export function duration(option: string): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms === undefined) throw new UsageError(`${option}: must be a duration such as 30m, 24h or 90d`);
    return ms;
  };
}

/** Milliseconds since 1970 of a date or timestamp (RFC 3339). */
export function moment(option: string): (text: string) => number {
  return (text) => {
    const time = parseTimestamp(text);
    if (time !== undefined) return time;
    throw new UsageError(`${option}: must be a date (2026-11-21) or a timestamp (2026-11-21T10:00:00Z)`);
  };
}

/** Milliseconds since 1970 of a time, or of now and a duration. */
export function futureMoment(option: string): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    return ms === undefined ? moment(option)(text) : Date.now() + ms;
  };
}

export function wholeNumber(option: string): (text: string) => number {
  return (text) => {
    if (!wholeNumberPattern.test(text)) throw new UsageError(`${option}: must be a whole number above 0`);
    return Number(text);
  };
}

/** An amount in the unit of a payment route. */
export function amount(option: string): (text: string) => number {
  return (text) => {
    if (!amountPattern.test(text)) throw new UsageError(`${option}: must be an amount`);
    return Number(text);
  };
}

import { randomBytes } from './random.ts';

/** An id that sorts by its time: 48 bits of milliseconds and 80 random bits (as a ULID), in hexadecimal behind a prefix. */
export function timeOrderedId(prefix: string, now: number): string {
  return `${idsFrom(prefix, now)}${randomBytes(10).toString('hex')}`;
}

/** What the ids of this millisecond begin with. */
export function idsFrom(prefix: string, now: number): string {
  return `${prefix}_${now.toString(16).padStart(12, '0')}`;
}

import { digest } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';

/**
 * An id that is valid for one use, until it expires. The same id must always have the same expiry, because the id of
 * the record contains both.
 */
export interface OneTimeId {
  readonly kind: 'sign_in_state' | 'logout_token';
  readonly id: string;
  /** Milliseconds since 1970. From then on the id is rejected as expired, and its record can be removed. */
  readonly expiresAt: number;
}

const space = 'service:one-time-ids';
/** Milliseconds in base 36 have at most 9 characters until the year 5188. */
const stampCharacters = 9;

/**
 * Records which one-time ids were used. The id of a record is its expiry and a digest, so that expired records sort first and
 * the store reveals no id.
 */
export class OneTimeIds {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /** The write that marks an id as used. The engine rejects it with `exists` if the id was used before. */
  use(id: OneTimeId): Write {
    return { kind: 'create', space, id: recordId(id), value: '', makeSpace: true };
  }

  /** Removes the records of expired ids. */
  async sweep(signal: AbortSignal): Promise<void> {
    const end = timeStamp(this.#now());
    while (!signal.aborted) {
      const old: Write[] = [];
      const scan = await this.#engine.scan(space, { limit: commitWritesMax });
      for await (const { id } of itemsOf(scan?.chunks ?? [])) {
        if (id.slice(0, stampCharacters) >= end) break;
        old.push({ kind: 'delete', space, id });
      }
      // A rejected commit means that another process is sweeping: leave the rest to it.
      if (old.length === 0 || (await this.#engine.commit(old)) !== undefined) return;
    }
  }
}

/** A timestamp whose text sorts by time. */
export function timeStamp(time: number): string {
  return Math.max(0, Math.floor(time)).toString(36).padStart(stampCharacters, '0');
}

export function readTimeStamp(stamp: string): number {
  return Number.parseInt(stamp.slice(0, stampCharacters), 36);
}

function recordId({ kind, id, expiresAt }: OneTimeId): string {
  return `${timeStamp(expiresAt)}.${digest(JSON.stringify([kind, id]))}`;
}

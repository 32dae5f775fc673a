import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import { commitWritesMax } from '../storage/limits.ts';
import { digestOf } from './random-text.ts';

/** An id that is good for one use, until a moment. Both name it: the same id must always come with the same moment. */
export interface OneTimeId {
  readonly kind: 'sign_in_state' | 'logout_token';
  readonly id: string;
  /** Milliseconds since 1970. From then on the id is rejected for its age, and need not be remembered. */
  readonly expiresAt: number;
}

const space = 'service:one-time-ids';
/** Milliseconds in base 36, as long until the year 5188. */
const stampCharacters = 9;

/**
 * Remembers which one-time ids were used. A record lies under its expiry and a digest, so that expired ones come first and the
 * store reveals no id.
 */
export class OneTimeIds {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /** The write that uses an id up. The engine refuses it with `exists` when the id was used before. */
  use(id: OneTimeId): Write {
    return { kind: 'create', space, id: recordId(id), value: '', makeSpace: true };
  }

  /** Removes the records of expired ids. */
  async sweep(signal: AbortSignal): Promise<void> {
    const end = stampOf(this.#now());
    while (!signal.aborted) {
      const old: Write[] = [];
      const scan = await this.#engine.scan(space, { limit: commitWritesMax });
      for await (const { id } of itemsOf(scan?.chunks ?? [])) {
        if (id.slice(0, stampCharacters) >= end) break;
        old.push({ kind: 'delete', space, id });
      }
      // Refused when another process sweeps at the same time: that one goes on.
      if (old.length === 0 || (await this.#engine.commit(old)) !== undefined) return;
    }
  }
}

/** Sorts by time. */
export function stampOf(moment: number): string {
  return Math.max(0, Math.floor(moment)).toString(36).padStart(stampCharacters, '0');
}

export function momentOf(stamp: string): number {
  return Number.parseInt(stamp.slice(0, stampCharacters), 36);
}

function recordId({ kind, id, expiresAt }: OneTimeId): string {
  return `${stampOf(expiresAt)}.${digestOf(JSON.stringify([kind, id]))}`;
}

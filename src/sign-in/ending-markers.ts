import { type AdministrativeAct, audited } from '../audit/audit.ts';
import { digest, randomText } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import type { SessionFilter } from './types.ts';

/** The access that ends. */
export interface RevocationScope {
  readonly filter: SessionFilter;
  /** Whether to delete the user's record too. The filter then names the user. */
  readonly deletesUser?: boolean;
  /** The public id of the session that ends last, so that its user can retry. */
  readonly last?: string;
}

/** An ending that takes more than one commit. It is stored in `service:access-endings` until it is complete. */
export interface StoredEnding extends RevocationScope {
  /** When it was last requested, in milliseconds since 1970. */
  readonly beganAt: number;
  /** Distinguishes the ending from the one that a repeated request stores. */
  readonly attempt?: string;
  /** Absent once the act is in the audit. */
  readonly act?: AdministrativeAct;
}

/** The record of an ending that is not complete. */
export interface Marker {
  readonly id: string;
  readonly text: string;
}

/** Stores the endings of access that are not complete. */
export class EndingMarkers {
  readonly #engine: Engine;
  readonly #records: Records<StoredEnding>;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#records = new Records(engine, 'access-endings');
    this.#now = now;
  }

  /**
   * The write that stores an ending. If a process that died has already stored the same ending, this replaces it,
   * because the new ending also covers what began since. The engine rejects the write if the stored ending changes
   * meanwhile; then call again.
   */
  async store(
    ending: RevocationScope & { readonly act: AdministrativeAct },
  ): Promise<Marker & { readonly write: Write }> {
    const { act, ...scope } = ending;
    const id = markerId(ending);
    const before = await this.#records.find(id);
    const stored: StoredEnding = {
      ...scope,
      beganAt: Math.max(this.#now(), before?.value.beganAt ?? 0),
      attempt: randomText().slice(0, 22),
      // A repeated ending must not be in the audit twice.
      ...(before === undefined || before.value.act !== undefined ? { act } : {}),
    };
    return { id, text: JSON.stringify(stored), write: this.#records.saving(id, before, stored) };
  }

  /**
   * Writes the act of a stored ending to the audit, before the first access ends. Returns the text of the record
   * afterwards. If the ending was replaced meanwhile, returns the given text; if it is complete, undefined.
   */
  async recordAct(id: string, text: string): Promise<string | undefined> {
    for (;;) {
      const before = await this.#records.find(id);
      if (before === undefined) return undefined;
      const { act, ...recorded } = before.value;
      if (act === undefined) return text;
      const write = this.#records.replacement(before, recorded);
      if ((await this.#engine.commit([write, audited(act, this.#now())])) === undefined)
        return before.text === text ? JSON.stringify(recorded) : text;
    }
  }

  /** Removes a complete ending, unless it was replaced meanwhile. */
  async remove({ id, text }: Marker): Promise<void> {
    await this.#engine.commit([this.#records.deletion({ id, text })]);
  }

  /** All stored endings, with their scope and the time of the last request, in milliseconds since 1970. */
  async *all(): AsyncGenerator<Marker & { readonly scope: RevocationScope; readonly beganAt: number }> {
    for await (const page of this.#records.pages()) {
      for (const { id, text, value } of page) {
        const { beganAt, attempt: _attempt, act: _act, ...scope } = value;
        yield { id, text, scope, beganAt };
      }
    }
  }
}

/** The id of the marker of a user deletion. */
export function deletionId(user: string): string {
  return `delete.${user}`;
}

/** The same ending has the same id, so that a repeated request continues it. */
function markerId({ filter, deletesUser }: RevocationScope): string {
  if (deletesUser && filter.user !== undefined) return deletionId(filter.user);
  return `end.${digest(JSON.stringify(Object.entries(filter).toSorted()))}`;
}

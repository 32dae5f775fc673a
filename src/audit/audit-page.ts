import { invalidRequest } from '../errors.ts';
import { idsFrom } from '../random.ts';
import type { Engine } from '../storage/engine.ts';
import { Records } from '../storage/records.ts';
import { type AuditEntry, auditTrail } from './audit.ts';

/** The first stretch of time that is searched for the newest acts: a working session of an administrator. */
const auditFirstStretchMs = 60 * 60 * 1_000;
/** Each stretch is longer than the one before by this factor, so that ten years without acts take ten steps. */
const auditStretchFactor = 4;
/** Acts that are read from one stretch: some 200 KB. A stretch with more acts is shortened. */
export const auditStretchActsMax = 1_000;

export interface AuditPage {
  /** Newest first. */
  readonly acts: readonly AuditEntry[];
  /** The `after` of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

const prefix = 'act';
const idPattern = /^act_([0-9a-f]{12})[0-9a-f]{20}$/;

/**
 * Reads the audit trail backwards. An engine reads a space only forwards, so this reads one stretch of time after
 * another, each forwards.
 */
export class AuditReader {
  readonly #engine: Engine;
  readonly #now: () => number;

  constructor(engine: Engine, now: () => number) {
    this.#engine = engine;
    this.#now = now;
  }

  /**
   * The newest acts before another one. Throws `invalid_request` if `after` is not the id of an act.
   *
   * @param after the `next` of the previous page
   */
  async page(limit: number, after?: string): Promise<AuditPage> {
    const found: AuditEntry[] = [];
    let end = after;
    let endMs = after === undefined ? this.#now() : entryTime(after);
    const oldestMs = await this.#oldest();
    if (oldestMs === undefined) return { acts: [], next: undefined };
    let start = endMs - auditFirstStretchMs;
    // One act more than the page has shows whether there is another page.
    while (found.length <= limit) {
      const { acts, isWhole } = await this.#between(start, end);
      if (!isWhole) {
        // The new start is never before the last act that was read. So each step comes closer to the end, even if
        // clocks are wrong.
        const middle = Math.floor((start + endMs) / 2);
        start = Math.max(entryTime((acts.at(-1) as AuditEntry).id), middle);
        continue;
      }
      found.push(...acts.reverse());
      if (start <= oldestMs) break;
      const stretch = Math.max(endMs - start, 1) * auditStretchFactor;
      end = idsFrom(prefix, start);
      endMs = start;
      start -= stretch;
    }
    return { acts: found.slice(0, limit), next: found.length > limit ? found[limit - 1]?.id : undefined };
  }

  /**
   * The acts from a time up to an id, oldest first. If there are too many, the result is not whole, and the last act is
   * the first of those that are left out.
   */
  async #between(startMs: number, end: string | undefined): Promise<Stretch> {
    const acts: AuditEntry[] = [];
    for await (const act of auditTrail(this.#engine, Math.max(0, startMs))) {
      if (end !== undefined && act.id >= end) break;
      acts.push(act);
      if (acts.length > auditStretchActsMax && entryTime(act.id) > startMs) return { acts, isWhole: false };
    }
    return { acts, isWhole: true };
  }

  async #oldest(): Promise<number | undefined> {
    const entries = new Records<AuditEntry>(this.#engine, 'audit');
    for await (const { id } of entries.list({ limit: 1 })) return entryTime(id);
    return undefined;
  }
}

interface Stretch {
  readonly acts: AuditEntry[];
  readonly isWhole: boolean;
}

/** The time of an act, in milliseconds since 1970. */
function entryTime(id: string): number {
  const [, time] = idPattern.exec(id) ?? [];
  if (time !== undefined) return Number.parseInt(time, 16);
  throw invalidRequest('after', 'after must be the next of the previous page.');
}

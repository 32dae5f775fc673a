import { LRUCache } from 'lru-cache';
import { rejectionLinesPerSecondMax, rejectionLoggedMs, rejectionsCountedMax } from '../limits.ts';
import type { Log, LogFields } from '../log.ts';

interface Counted {
  nextAt: number;
  leftOut: number;
  readonly code: string;
  readonly address: string;
}

/**
 * Logs rejected requests so that nobody can flood the log: of each code and address one line a second, with a count of those
 * that were left out since the last one, and of all addresses together so many lines a second. No rejection goes uncounted.
 */
export class RejectionLog {
  readonly #log: Log;
  readonly #counted = new LRUCache<string, Counted>({
    max: rejectionsCountedMax,
    dispose: (counted) => this.#writeRest(counted),
  });
  #secondEndsAt = 0;
  #linesThisSecond = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  note(code: string, address: string, fields: LogFields & { readonly status: number }): void {
    const now = performance.now();
    const key = `${code} ${address}`;
    let counted = this.#counted.get(key);
    if (counted === undefined) {
      counted = { nextAt: 0, leftOut: 0, code, address };
      this.#counted.set(key, counted);
    }
    if (now < counted.nextAt || !this.#hasLine(now)) {
      counted.leftOut++;
      return;
    }
    const leftOut = counted.leftOut === 0 ? {} : { left_out: counted.leftOut };
    counted.nextAt = now + rejectionLoggedMs;
    counted.leftOut = 0;
    this.#log[fields.status >= 500 ? 'warn' : 'info']('request', { ...fields, code, ...leftOut });
  }

  /** Writes what has been counted and not logged. */
  flush(): void {
    for (const counted of this.#counted.values()) this.#writeRest(counted);
  }

  #hasLine(now: number): boolean {
    if (now >= this.#secondEndsAt) {
      this.#secondEndsAt = now + 1_000;
      this.#linesThisSecond = 0;
    }
    return ++this.#linesThisSecond <= rejectionLinesPerSecondMax;
  }

  #writeRest(counted: Counted): void {
    const { code, address, leftOut } = counted;
    if (leftOut === 0) return;
    counted.leftOut = 0;
    // The line itself stands for one of them.
    this.#log.info('request', { code, address, left_out: leftOut - 1 });
  }
}

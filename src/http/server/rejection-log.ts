import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Log, LogFields } from '../../log.ts';

/** Rejected requests with the same code and address are logged once in this time, with a count of the others. */
const rejectionLoggedMs = 1_000;
/** Pairs of code and address that the log counts at once. */
export const rejectionsCountedMax = 1_000;
/** Log lines per second for rejected requests, of all addresses. */
export const rejectionLinesPerSecondMax = 100;

interface Counted {
  nextAt: number;
  leftOut: number;
  readonly code: string;
  readonly address: string;
}

/**
 * Logs rejected requests so that nobody can flood the log: one line per second for each code and address, with the number left
 * out since the last line, and `rejectionLinesPerSecondMax` lines per second in all. Every rejection is counted.
 */
export class RejectionLog {
  readonly #log: Log;
  readonly #counted = new LRUCache<string, Counted>({
    max: rejectionsCountedMax,
    dispose: (counted) => this.#writeRest(counted),
  });
  /** By code: the rejections of addresses that have lost their own count. */
  readonly #leftOut = new Map<string, number>();
  #secondEndsAt = 0;
  #linesThisSecond = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** @param describe called only for a rejection that is logged */
  note(
    code: string,
    { address, countedAddress }: Pick<FastifyRequest, 'address' | 'countedAddress'>,
    describe: () => LogFields & { readonly status: number },
  ): void {
    const now = performance.now();
    const key = `${code} ${countedAddress}`;
    let counted = this.#counted.get(key);
    if (counted === undefined) {
      counted = { nextAt: 0, leftOut: 0, code, address };
      this.#counted.set(key, counted);
    }
    if (now < counted.nextAt || !this.#hasLine(now)) {
      counted.leftOut++;
      return;
    }
    const fields = describe();
    const leftOut = counted.leftOut === 0 ? {} : { left_out: counted.leftOut };
    counted.nextAt = now + rejectionLoggedMs;
    counted.leftOut = 0;
    this.#log[fields.status >= 500 ? 'warn' : 'info']('request', { ...fields, code, ...leftOut });
  }

  /** Logs the rejections that were counted and not logged. */
  flush(): void {
    for (const counted of this.#counted.values()) this.#writeRest(counted);
    this.#writeLeftOut();
  }

  #hasLine(now: number): boolean {
    if (now >= this.#secondEndsAt) {
      this.#secondEndsAt = now + 1_000;
      this.#linesThisSecond = 0;
      this.#writeLeftOut();
    }
    return ++this.#linesThisSecond <= rejectionLinesPerSecondMax;
  }

  #writeLeftOut(): void {
    for (const [code, leftOut] of this.#leftOut)
      this.#log.info('request', { code, address: 'several', left_out: leftOut - 1 });
    this.#leftOut.clear();
  }

  #writeRest(counted: Counted): void {
    const { code, address, leftOut } = counted;
    if (leftOut === 0) return;
    counted.leftOut = 0;
    if (!this.#hasLine(performance.now())) {
      this.#leftOut.set(code, (this.#leftOut.get(code) ?? 0) + leftOut);
      return;
    }
    // The line itself counts as one of them.
    this.#log.info('request', { code, address, left_out: leftOut - 1 });
  }
}

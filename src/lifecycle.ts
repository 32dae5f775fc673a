import { setTimeout as sleep } from 'node:timers/promises';
import { errorFields, type Log } from './log.ts';

/** Bounds of lifecycle: each with its unit at the end of its name, and the reason for its value. */

/** A stop waits this long for running requests, then ends their connections: the exit comes within 10 s. */
export const stopGraceMs = 9_000;
/** When a worker that does not end is killed. */
export const stopMsMax = 9_900;
/** What closing the store has at least, also when the requests have taken all of the time. */
export const storeCloseMsMin = 700;

/** Works that a stop waits for though nobody else may: a charge goes on when its caller has hung up. */
export class InFlight {
  readonly #works = new Set<Promise<unknown>>();

  add<Result>(work: Promise<Result>): Promise<Result> {
    this.#works.add(work);
    const remove = () => this.#works.delete(work);
    work.then(remove, remove);
    return work;
  }

  /** Resolves when all have ended, or when the grace period has. */
  async end(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#works), sleep(stopGraceMs, undefined, { ref: false })]);
  }
}

/** A job that runs now and then again after each pause, never twice at a time. */
export interface Repeated {
  /** No further round; resolves when the running one has ended, or when the grace period has. */
  stop(): Promise<void>;
}

/** @param job gets a signal that tells it to end early */
export function repeat(pauseMs: number, job: (signal: AbortSignal) => Promise<void>, log: Log): Repeated {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = (async () => {
    while (!signal.aborted) {
      await job(signal).catch((error: unknown) => log.error('unforeseen_error', errorFields(error)));
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  })();
  return {
    stop: async () => {
      stopping.abort();
      await Promise.race([running, sleep(stopGraceMs, undefined, { ref: false })]);
    },
  };
}

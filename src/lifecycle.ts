import { setTimeout as sleep } from 'node:timers/promises';
import { errorFields, type Log } from './log.ts';

/** Limits of the shutdown. Each name ends with its unit; each comment gives the reason for the value. */

/** Shutdown waits this long for running requests, then closes their connections: the process exits within 10 s. */
export const stopGraceMs = 9_000;
/** A worker that is still running after this time is killed. */
export const stopMsMax = 9_900;
/** Minimum time for closing the store, even when requests have used the whole grace period. */
export const storeCloseMsMin = 700;

/** Operations that shutdown waits for even when no caller does: a charge continues after its caller disconnects. */
export class InFlight {
  readonly #operations = new Set<Promise<unknown>>();

  add<Result>(operation: Promise<Result>): Promise<Result> {
    this.#operations.add(operation);
    const remove = () => this.#operations.delete(operation);
    operation.then(remove, remove);
    return operation;
  }

  /** Resolves when all operations have ended, or after the grace period. */
  async end(): Promise<void> {
    await Promise.race([Promise.allSettled(this.#operations), sleep(stopGraceMs, undefined, { ref: false })]);
  }
}

/** A job that runs at once and again after each pause, never twice at a time. */
export interface Repeated {
  /** Starts no further run. Resolves when the current run has ended, or after the grace period. */
  stop(): Promise<void>;
}

/** @param job receives a signal that asks it to end early */
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

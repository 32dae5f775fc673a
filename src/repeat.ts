import { setTimeout as sleep } from 'node:timers/promises';
import { stopGraceMs } from './limits.ts';
import { errorFields, type Log } from './log.ts';

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

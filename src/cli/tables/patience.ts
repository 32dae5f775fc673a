import { setTimeout as sleep } from 'node:timers/promises';
import type { CounterfoilError } from '../../../client/src/index.ts';
import { servicePatienceMs, serviceWaitMsMax, serviceWaitMsMin } from '../limits.ts';

/** A service or a network may be gone for a while; what is sent again must be safe to execute twice. */
const passing: ReadonlySet<string> = new Set([
  'connection_failed',
  'network_error',
  'timeout',
  'invalid_response',
  'request_timeout',
  'rate_limited',
  'overloaded',
  'unavailable',
]);

/** Repeats requests to a service until they succeed, at the pace of `Retry-After`. */
export class Patience {
  /** Before it, the address is more likely wrong than the service away. */
  #hasSucceeded = false;

  /** Throws the last error when it is not passing, or after `servicePatienceMs` without a response of the service. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    let until = performance.now() + servicePatienceMs;
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await work();
        this.#hasSucceeded = true;
        return result;
      } catch (error) {
        const { code, status } = error as CounterfoilError;
        if (status === 429) until = performance.now() + servicePatienceMs;
        const isAway = passing.has(code) && (this.#hasSucceeded || code !== 'connection_failed');
        const waitMs = waitBefore(attempt, error as CounterfoilError);
        if (!isAway || performance.now() + waitMs > until) throw error;
        await sleep(waitMs);
      }
    }
  }
}

/** At least `Retry-After`. Half of the rest is random, so that several batches do not come back at once. */
function waitBefore(attempt: number, { headers }: CounterfoilError): number {
  const doubled = Math.min(serviceWaitMsMin * 2 ** attempt, serviceWaitMsMax);
  const seconds = Number(headers?.get('retry-after') ?? 0) || 0;
  return seconds * 1_000 + doubled * (0.5 + Math.random() / 2);
}

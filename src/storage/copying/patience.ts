import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import { copyPatienceMsMax, copyPauseMs } from '../../limits.ts';

/** Nobody sits beside a copying: a store that fails for a moment, or is at its limit, is asked again for minutes. */
export class Patience {
  #end = performance.now() + copyPatienceMsMax;

  /** It has answered. */
  renew(): void {
    this.#end = performance.now() + copyPatienceMsMax;
  }

  /** Throws what has failed when it will not pass, or has not passed for `copyPatienceMsMax`. */
  async pauseAfter(error: unknown): Promise<void> {
    if (!isPassing(error) || performance.now() > this.#end) throw error;
    await sleep(copyPauseMs);
  }
}

export function isPassing(error: unknown): boolean {
  const isFailure =
    error instanceof ServiceError && (error.code === 'overloaded' || error.code === 'unavailable');
  return isFailure && error.details.retryable !== false;
}

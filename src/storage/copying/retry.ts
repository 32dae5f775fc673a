import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import { copyPauseMs, copyRetryMsMax } from './limits.ts';

/** A copy runs unattended, so it retries for minutes when a store fails temporarily or is at its limit. */
export class Retry {
  #end = performance.now() + copyRetryMsMax;

  /** Restarts the time limit after a reply. */
  renew(): void {
    this.#end = performance.now() + copyRetryMsMax;
  }

  /** Pauses before a retry. Throws the error when it is permanent, or has lasted for `copyRetryMsMax`. */
  async pauseAfter(error: unknown): Promise<void> {
    if (!isTemporary(error) || performance.now() > this.#end) throw error;
    await sleep(copyPauseMs);
  }
}

/** Wraps an engine to retry its reads. The callers of scans and commits retry those, because they know the progress. */
export function withRetries(engine: Engine): Engine {
  return {
    reads: engine.reads,
    get: (space, id) => retryUntilDone(() => engine.get(space, id)),
    spaces: () => retryUntilDone(() => engine.spaces()),
    describe: (space) => retryUntilDone(() => engine.describe(space)),
    count: (space) => retryUntilDone(() => engine.count(space)),
    removeSpace: (space) => engine.removeSpace(space),
    scan: (space, options) => engine.scan(space, options),
    commit: (writes) => engine.commit(writes),
    checkWritable: () => engine.checkWritable(),
    close: () => engine.close(),
  };
}

async function retryUntilDone<Output>(attempt: () => Promise<Output>): Promise<Output> {
  const retry = new Retry();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      await retry.pauseAfter(error);
    }
  }
}

function isTemporary(error: unknown): boolean {
  const isFailure =
    error instanceof ServiceError && (error.code === 'overloaded' || error.code === 'unavailable');
  return isFailure && error.details.retryable !== false;
}

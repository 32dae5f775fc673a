import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import { copyPatienceMsMax, copyPauseMs } from './limits.ts';

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

/** The same engine, whose answers are waited for; its scans and commits are asked again by whoever knows how far they came. */
export function patient(engine: Engine): Engine {
  return {
    reads: engine.reads,
    get: (space, id) => untilAnswered(() => engine.get(space, id)),
    spaces: () => untilAnswered(() => engine.spaces()),
    describe: (space) => untilAnswered(() => engine.describe(space)),
    scan: (space, options) => engine.scan(space, options),
    commit: (writes) => engine.commit(writes),
    checkWritable: () => engine.checkWritable(),
    close: () => engine.close(),
  };
}

async function untilAnswered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const patience = new Patience();
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      await patience.pauseAfter(error);
    }
  }
}

function isPassing(error: unknown): boolean {
  const isFailure =
    error instanceof ServiceError && (error.code === 'overloaded' || error.code === 'unavailable');
  return isFailure && error.details.retryable !== false;
}

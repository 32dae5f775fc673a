import { setTimeout as sleep } from 'node:timers/promises';
import { stopGraceMs } from './limits.ts';

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

import { setTimeout as sleep } from 'node:timers/promises';
import { circuitFailuresMax, circuitPauseMsMax, circuitPauseMsMin } from './limits.ts';

/**
 * What recovery may send to one processor. Its calls are spaced evenly, so that they never exceed a rate, however much
 * there is to recover: a processor that answers 429 turns away buyers too. When calls keep failing, none is sent for a
 * while (a circuit breaker); then one is tried.
 */
export class Pace {
  readonly #intervalMs: number;
  #nextAt = 0;
  #failures = 0;
  #pauseMs = circuitPauseMsMin;
  #pausedUntil = 0;

  /** @param callsPerSecondMax of this process */
  constructor(callsPerSecondMax: number) {
    this.#intervalMs = 1_000 / callsPerSecondMax;
  }

  /**
   * Waits for the next turn. A caller whose turn would come after its time-out gets none and takes none.
   *
   * @returns whether it is the caller's turn; then the outcome must be reported
   */
  async turn(timeoutMs: number): Promise<boolean> {
    const now = performance.now();
    if (now < this.#pausedUntil) return false;
    // The first call after a pause is alone until its outcome is known.
    if (this.#isOpen()) this.#pausedUntil = now + Math.max(timeoutMs, this.#pauseMs);
    const at = Math.max(now, this.#nextAt);
    if (at - now >= timeoutMs) return false;
    this.#nextAt = at + this.#intervalMs;
    if (at - now >= 1) await sleep(at - now);
    return true;
  }

  /** @param isWell whether the processor answered, and neither turned us away for the rate nor failed itself */
  report(isWell: boolean): void {
    if (isWell) {
      this.#failures = 0;
      this.#pauseMs = circuitPauseMsMin;
      this.#pausedUntil = 0;
      return;
    }
    this.#failures++;
    if (!this.#isOpen()) return;
    const now = performance.now();
    const isProbe = this.#failures > circuitFailuresMax;
    if (isProbe) this.#pauseMs = Math.min(2 * this.#pauseMs, circuitPauseMsMax);
    this.#pausedUntil = now + this.#pauseMs * (0.5 + Math.random() / 2);
  }

  #isOpen(): boolean {
    return this.#failures >= circuitFailuresMax;
  }
}

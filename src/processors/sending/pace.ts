import { setTimeout as sleep } from 'node:timers/promises';
import { circuitFailuresMax, circuitPauseMsMax, circuitPauseMsMin } from './limits.ts';

/**
 * Spaces recovery's calls to one processor evenly below a rate, because buyers' charges share the processor's rate limit.
 * A circuit breaker: when calls keep failing, it sends none for a while and then tries one.
 */
export class Pace {
  readonly #intervalMs: number;
  #nextAt = 0;
  #failures = 0;
  #pauseMs = circuitPauseMsMin;
  #pausedUntil = 0;
  /** Whether the trial call after a pause is under way. */
  #isTrial = false;

  /** @param callsPerSecondMax of this process */
  constructor(callsPerSecondMax: number) {
    this.#intervalMs = 1_000 / callsPerSecondMax;
  }

  /**
   * Waits for the next turn. Returns false, without using a turn, if the turn is after the time-out or the circuit is open.
   * After true, the caller must call `report`.
   */
  async turn(timeoutMs: number): Promise<boolean> {
    const now = performance.now();
    const isOpen = this.#failures >= circuitFailuresMax;
    if (isOpen && (this.#isTrial || now < this.#pausedUntil)) return false;
    const at = Math.max(now, this.#nextAt);
    if (at - now >= timeoutMs) return false;
    this.#isTrial = isOpen;
    this.#nextAt = at + this.#intervalMs;
    if (at - now >= 1) await sleep(at - now);
    return true;
  }

  /** @param isWell whether the processor replied with neither a rate-limit error (429) nor a server error (5xx) */
  report(isWell: boolean): void {
    if (isWell) {
      this.#failures = 0;
      this.#pauseMs = circuitPauseMsMin;
      this.#isTrial = false;
      return;
    }
    this.#failures++;
    if (this.#failures === circuitFailuresMax) this.#pause();
    else if (this.#isTrial) {
      this.#pauseMs = Math.min(2 * this.#pauseMs, circuitPauseMsMax);
      this.#pause();
    }
  }

  #pause(): void {
    this.#isTrial = false;
    this.#pausedUntil = performance.now() + this.#pauseMs * (0.5 + Math.random() / 2);
  }
}

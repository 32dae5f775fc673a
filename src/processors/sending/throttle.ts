import { setTimeout as sleep } from 'node:timers/promises';
import { inTime } from './outcomes.ts';

/** Recovery pauses after this many failed calls in a row: a processor that is down fails them all. */
export const circuitFailuresMax = 10;
/**
 * How long the circuit stays open before one call is tried. One call in this time is no burden, and longer would delay the
 * items that open charges hold.
 */
export const circuitPauseMs = 2_000;

/**
 * Spaces recovery's calls to one processor evenly below a rate, because buyers' charges share the processor's rate limit.
 * A circuit breaker: when calls keep failing, it sends none for a while and then tries one.
 */
export class Throttle {
  readonly #intervalMs: number;
  #nextAt = 0;
  #failures = 0;
  #pausedUntil = 0;
  /** The trial call after a pause, while it is under way. */
  #trial: PromiseWithResolvers<void> | undefined;

  /** @param callsPerSecondMax of this process */
  constructor(callsPerSecondMax: number) {
    this.#intervalMs = 1_000 / callsPerSecondMax;
  }

  /**
   * Waits for the next turn, and for a trial under way, whose success lets the other calls follow at once. Returns false,
   * without using a turn, if the turn is after the time-out or the circuit is open. After true, the caller must call `report`.
   */
  async turn(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    if (this.#trial !== undefined) await inTime(this.#trial.promise, timeoutMs, undefined);
    const now = performance.now();
    const isOpen = this.#failures >= circuitFailuresMax;
    if (isOpen && (this.#trial !== undefined || now < this.#pausedUntil)) return false;
    const at = Math.max(now, this.#nextAt);
    if (at >= deadline) return false;
    if (isOpen) this.#trial = Promise.withResolvers();
    this.#nextAt = at + this.#intervalMs;
    if (at - now >= 1) await sleep(at - now);
    return true;
  }

  /** @param isWell whether the processor replied with neither a rate-limit error (429) nor a server error (5xx) */
  report(isWell: boolean): void {
    this.#failures = isWell ? 0 : this.#failures + 1;
    const isTrialOver = this.#trial !== undefined;
    this.#trial?.resolve();
    this.#trial = undefined;
    // Calls that were under way when the circuit opened do not prolong its pause.
    if (this.#failures === circuitFailuresMax || (isTrialOver && !isWell))
      this.#pausedUntil = performance.now() + circuitPauseMs * (0.5 + Math.random() / 2);
  }
}

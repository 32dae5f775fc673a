/** Ticks of one wait: a pause counts as one of them at most. */
const ticksPerWait = 15;

/**
 * Calls back after this process has run for a time. Time in which it did not run does not count: it was stopped, its machine was
 * suspended, or its event loop was busy. A timer would be late at once after such a pause, before the event that it waits for.
 *
 * @returns a function that ends the wait
 */
export function afterRunning(ms: number, callback: () => void): () => void {
  let ticks = 0;
  // An interval does not make up for ticks that it missed.
  const interval = setInterval(
    () => {
      if (++ticks < ticksPerWait) return;
      clearInterval(interval);
      callback();
    },
    Math.ceil(ms / ticksPerWait),
  );
  return () => clearInterval(interval);
}

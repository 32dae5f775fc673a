import { setTimeout as sleep } from 'node:timers/promises';

/** The time that a busy machine may need in addition to a bound of the service. */
export const busyMachineMs = 5_000;

/** The timeout for events that must happen but have no promised time: longer than any busy machine needs. */
export const givenUpMs = 60_000;

/**
 * Waits for a call that has a timeout, and for a timer of the same length. A busy machine delays both alike, so the
 * difference is the time that the call takes beyond its timeout.
 */
export async function overrunOf<Result>(
  call: () => Promise<Result>,
  timeoutMs: number,
): Promise<{ readonly result: Result; readonly tookMs: number; readonly overrunMs: number }> {
  const startedAt = performance.now();
  const since = () => performance.now() - startedAt;
  const timer = sleep(timeoutMs).then(since);
  const result = await call();
  const tookMs = since();
  return { result, tookMs, overrunMs: tookMs - Math.max(timeoutMs, await timer) };
}

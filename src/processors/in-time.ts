import { setTimeout as sleep } from 'node:timers/promises';

/** What a work gives, or `late` when it has not given it in time; the work itself is not ended. */
export async function inTime<Result>(
  work: Promise<Result>,
  timeoutMs: number,
  late: Result,
): Promise<Result> {
  const answered = new AbortController();
  const timeout = sleep(timeoutMs, late, { signal: answered.signal, ref: false }).catch(() => late);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    answered.abort();
  }
}

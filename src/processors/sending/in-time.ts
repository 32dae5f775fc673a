import type { Unknown } from '../reports.ts';

/** Resolves with the result of `work`, or with `late` after the time-out. The work itself continues. */
export function inTime<Result>(work: Promise<Result>, timeoutMs: number, late: Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => resolve(late), timeoutMs).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timeout));
  });
}

/** Resolves with the outcome of a call, which is unknown after the time-out. */
export function outcomeInTime<Outcome>(
  call: Promise<Outcome>,
  timeoutMs: number,
  detail = 'no reply in time',
): Promise<Outcome | Unknown> {
  return inTime<Outcome | Unknown>(call, timeoutMs, { kind: 'unknown', detail });
}

import { type CounterfoilError, clientError } from './error.ts';

/** The reason of a signal that aborts because the time is over. */
export const late = new Error('The time is over.');
const timerMsMax = 2 ** 31 - 1;
const waitMsMax = 5_000;
const firstWaitMs = 250;

/**
 * Waits for the result, the end of the time or the abort, whichever comes first, even if `run` ignores its signal.
 * Throws `timeout` or `aborted`.
 */
export function withinTime<Result>(
  outer: AbortSignal | undefined,
  timeoutMs: number,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (outer?.aborted) throw clientError('aborted', outer.reason);
    const controller = new AbortController();
    const stop = (code: 'timeout' | 'aborted', reason: unknown) => {
      controller.abort(reason);
      reject(clientError(code, reason));
    };
    const timer = setTimeout(stop, Math.min(timeoutMs, timerMsMax), 'timeout', late);
    const abort = outer && (() => stop('aborted', outer.reason));
    if (abort) outer.addEventListener('abort', abort);
    const end = () => {
      clearTimeout(timer);
      if (abort) outer.removeEventListener('abort', abort);
    };
    run(controller.signal).then(
      (result) => {
        end();
        resolve(result);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}

/** Resolves after the time, or when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, timerMsMax));
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted) end();
  });
}

/**
 * The wait before the next attempt: at least `Retry-After`; otherwise it doubles with each attempt. Half of it is
 * random.
 */
export function waitBefore(attempt: number, error: CounterfoilError): number {
  const own = Math.min(firstWaitMs * 2 ** Math.min(attempt, 10), waitMsMax) * (0.5 + Math.random() / 2);
  const seconds = Number(error.headers?.get('retry-after') ?? 0);
  return seconds > 0 ? seconds * 1_000 + own / 4 : own;
}

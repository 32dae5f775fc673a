import type { CounterfoilError } from './error.ts';
import type { Answer, Call, Http } from './http.ts';
import { sleep, waitBefore } from './time.ts';

const retriesMax = 3;
const waitMsMax = 10_000;
/** The service has not executed the request. */
const notExecuted = ['connection_failed', 'rate_limited', 'overloaded', 'request_timeout'];
/**
 * The service may have executed the request. `unavailable` is in this list because the store may have written without
 * confirming it.
 */
const lost = ['network_error', 'timeout', 'invalid_response', 'unavailable'];

/**
 * Sends a request again if it was certainly not executed. A request that is safe to execute twice is also sent again if
 * its response was lost.
 */
export function sendAgain<Body>(
  http: Http,
  call: Call,
  isSafe = call.method === 'GET',
): Promise<Answer<Body>> {
  return again(() => http.send<Body>(call), isSafe, call.signal);
}

export async function again<Result>(
  run: () => Promise<Result>,
  isSafe: boolean,
  signal?: AbortSignal,
): Promise<Result> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await run();
    } catch (thrown) {
      const error = thrown as CounterfoilError;
      const mayRetry = notExecuted.includes(error.code) || (isSafe && lost.includes(error.code));
      const waitMs = waitBefore(attempt, error);
      if (!mayRetry || attempt >= retriesMax || waitMs > waitMsMax) throw error;
      await sleep(waitMs, signal);
      if (signal?.aborted) throw error;
    }
  }
}

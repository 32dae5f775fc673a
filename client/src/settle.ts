import { CounterfoilError, clientError, invalid } from './error.ts';
import { type Answer, type Call, type Http, requestMsMax } from './http.ts';
import { sleep, waitBefore } from './time.ts';

export interface MoneyOptions {
  /** Set it to repeat an earlier request; otherwise the client makes one. */
  readonly idempotencyKey?: string;
  /** Stops the wait. If a request was already sent, the result is then `unknown`. */
  readonly signal?: AbortSignal;
  /** How long to try; 60 seconds by default. */
  readonly deadlineMs?: number;
}

/** The money may have moved or not. Repeat the same request with this key later, or look the payment up. */
export interface UnknownOutcome {
  readonly status: 'unknown';
  readonly idempotencyKey: string;
  /** Undefined if no response named the payment. */
  readonly paymentId: string | undefined;
  /** Reads the payment without a key (`payments.get`); undefined unless a publishable key has requested it. */
  readonly clientSecret?: string | undefined;
  /**
   * - `deadline`, `aborted`: the client stopped waiting.
   * - `needs_review`: the service could not find out, so a person must look.
   * - `rejected`: an earlier request may have arrived, and a later one was rejected; `error` has the cause.
   */
  readonly reason: 'deadline' | 'aborted' | 'needs_review' | 'rejected';
  /** The error of the last request. */
  readonly error: CounterfoilError;
}

interface Outcomes<Body, Result> {
  /** The result for the body of a success; undefined if the body is not one. */
  readonly success: (answer: Answer<Body>, idempotencyKey: string) => Result | undefined;
  /** The outcome that an error stands for; undefined if it stands for none. */
  readonly failure: (error: CounterfoilError, idempotencyKey: string) => Result | undefined;
}

const deadlineMsDefault = 60_000;
/** How often a request is repeated that failed at the processor or the disk and certainly moved no money. */
const failuresMax = 2;
const failing = ['processor_error', 'storage_full'];
/** The codes that prove that the request moved no money, although there is no response or its status is 500 or more. */
const movedNothing = ['connection_failed', 'overloaded', 'processor_not_configured', ...failing];

/**
 * Sends a request that moves money. Repeats it with the same idempotency key until its outcome is known or the time is
 * over.
 *
 * It throws only if no request of this call can have moved money. Once a request may have, every later error that is
 * not the outcome gives `unknown`, because a request whose response was lost may also be executed late.
 */
export async function settle<Body, Result>(
  http: Http,
  call: Call,
  { idempotencyKey: givenKey, signal, deadlineMs = deadlineMsDefault }: MoneyOptions,
  { success, failure }: Outcomes<Body, Result>,
): Promise<Result | UnknownOutcome> {
  if (!(deadlineMs > 0)) throw invalid('deadlineMs', 'deadlineMs must be a number above 0.');
  if (signal?.aborted) throw clientError('aborted', signal.reason);
  const idempotencyKey = givenKey ?? crypto.randomUUID();
  const endsAt = performance.now() + deadlineMs;
  const headers = { ...call.headers, 'idempotency-key': idempotencyKey };
  let mayHaveMoved = false;
  let failures = 0;
  let paymentId: string | undefined;
  let clientSecret: string | undefined;
  for (let attempt = 0; ; attempt++) {
    let error: CounterfoilError;
    try {
      const timeoutMs = Math.min(endsAt - performance.now(), requestMsMax);
      const answer = await http.send<Body>({ ...call, headers, signal, timeoutMs });
      const result = success(answer, idempotencyKey);
      if (result !== undefined) return result;
      error = clientError('invalid_response');
    } catch (thrown) {
      if (!(thrown instanceof CounterfoilError)) throw thrown;
      error = thrown;
    }
    paymentId = error.headers?.get('payment-id') ?? paymentId;
    clientSecret = clientSecretOf(error) ?? clientSecret;
    const result = failure(error, idempotencyKey);
    if (result !== undefined) return result;
    mayHaveMoved ||= mayMove(error, givenKey);
    if (failing.includes(error.code)) failures++;
    const end = (reason: UnknownOutcome['reason']): UnknownOutcome => {
      if (!mayHaveMoved) throw error;
      return { status: 'unknown', idempotencyKey, paymentId, clientSecret, reason, error };
    };
    if (signal?.aborted) return end('aborted');
    if (error.code === 'payment_outcome_unknown' && !error.retryable) return end('needs_review');
    if (!(error.retryable || mayMove(error, givenKey)) || failures > failuresMax) return end('rejected');
    do {
      const waitMs = waitBefore(attempt, error);
      if (performance.now() + waitMs >= endsAt) return end('deadline');
      await sleep(waitMs, signal);
      if (signal?.aborted) return end('aborted');
    } while (await isOpen(http, { ...call, signal, timeoutMs: endsAt - performance.now() }, error));
  }
}

export const clientSecretHeader = 'payment-client-secret';

/** The secret that reads the payment of a response. */
export function clientSecretOf({ headers }: { readonly headers: Headers | undefined }): string | undefined {
  return headers?.get(clientSecretHeader) ?? undefined;
}

/**
 * Whether the payment that an error names still has no outcome. Only a publishable key gets the secret for this
 * look-up, which does not count as a charge. Once the payment has an outcome, repeating the request returns it.
 */
async function isOpen(http: Http, call: Call, { headers }: CounterfoilError): Promise<boolean> {
  const secret = clientSecretOf({ headers });
  if (secret === undefined) return false;
  const path = `${call.path}/${headers?.get('payment-id')}`;
  const read = {
    ...call,
    method: 'GET',
    path,
    headers: { [clientSecretHeader]: secret },
    body: undefined,
  };
  const found = await http.send<{ readonly status: string }>(read).catch(() => undefined);
  return found?.body.status === 'calling' || found?.body.status === 'in_doubt';
}

/** Whether the money may have moved, or may still move, although this request returned an error. */
function mayMove({ code, status }: CounterfoilError, givenKey: string | undefined): boolean {
  if (status >= 400 && status < 500) return code === 'idempotency_key_in_use';
  // The first request with a key is `unavailable` only if nothing was reserved; otherwise the response is 504. A
  // repeated request can also fail while the service looks up the first one, or extends the time in which the first may
  // be charged.
  if (code === 'unavailable') return givenKey !== undefined;
  return !movedNothing.includes(code);
}

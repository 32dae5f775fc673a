import { defined } from '../../defined.ts';
import type { ChargeOutcome, ChargeParam, RefundOutcome } from '../processor.ts';
import type { Declined, Succeeded, Unknown } from '../reports.ts';

/** Outcomes that all adapters report in the same form. */

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

export function isFinal(outcome: ChargeOutcome): outcome is Succeeded | Declined {
  return outcome.kind === 'succeeded' || outcome.kind === 'declined';
}

/** @param openAttemptId of an attempt that a page can still confirm */
export function declined(declineCode: string, openAttemptId?: string): Declined {
  const authenticationRequired = declineCode === 'authentication_required';
  return { kind: 'declined', declineCode, authenticationRequired, ...defined({ openAttemptId }) };
}

/** What the processor rejected, and its own error code. */
interface Rejection {
  /** The name of the processor. */
  readonly by: string;
  readonly code: string | undefined;
  readonly detail: string;
}

export function rejectedCharge(
  { by, code, detail }: Rejection,
  param: ChargeParam | undefined,
): ChargeOutcome {
  const message = `${by} rejected the ${param ?? 'charge'}${inBrackets(code)}; nothing was charged.`;
  return { kind: 'rejected', ...defined({ param }), message, detail };
}

export function rejectedRefund({ by, code, detail }: Rejection, isDisputed: boolean): RefundOutcome {
  const message = `${by} rejected the refund${inBrackets(code)}; nothing was refunded.`;
  return { kind: 'rejected', message, detail, isDisputed };
}

function inBrackets(code: string | undefined): string {
  return code === undefined ? '' : ` (${code})`;
}

/** Whether the processor rejected a request unread: the key, its permissions or the rate. */
export function isRejectedUnread(status: number | undefined): boolean {
  return status === 401 || status === 403 || status === 429;
}

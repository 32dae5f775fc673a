/** A refund that was sent, until its outcome is known. */
export interface RefundAttempt {
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly idempotencyKey: string;
}

/**
 * The refunds without a known outcome, by payment id. They outlive the dialog and the view, so that a reader who comes back repeats
 * the same request instead of refunding twice. Loading the page again forgets them; the timeline then shows what is known.
 */
const attempts = new Map<string, RefundAttempt>();

export function attemptOf(paymentId: string): RefundAttempt | undefined {
  return attempts.get(paymentId);
}

/** The attempt that has no outcome yet, or a new one over this amount. */
export function beginAttempt(paymentId: string, amount: number): RefundAttempt {
  const attempt = attempts.get(paymentId) ?? { amount, idempotencyKey: crypto.randomUUID() };
  attempts.set(paymentId, attempt);
  return attempt;
}

/** The outcome is known: the next refund of the payment is another one. */
export function endAttempt(paymentId: string): void {
  attempts.delete(paymentId);
}

/** A refund that was sent and whose outcome is not known yet. */
export interface RefundAttempt {
  /** In the smallest unit of the currency. */
  readonly amount: number;
  readonly idempotencyKey: string;
}

/**
 * The refunds whose outcome is not known, by payment id. They outlive the dialog and the view, so that a reader who
 * returns repeats the same request instead of refunding twice. They are lost when the page is loaded again; the
 * timeline then shows what is known.
 */
const attempts = new Map<string, RefundAttempt>();

export function attemptOf(paymentId: string): RefundAttempt | undefined {
  return attempts.get(paymentId);
}

/** The attempt that has no outcome yet, or a new attempt for this amount. */
export function beginAttempt(paymentId: string, amount: number): RefundAttempt {
  const attempt = attempts.get(paymentId) ?? { amount, idempotencyKey: crypto.randomUUID() };
  attempts.set(paymentId, attempt);
  return attempt;
}

/** Call it when the outcome is known, so that the next refund of the payment is a new one. */
export function endAttempt(paymentId: string): void {
  attempts.delete(paymentId);
}

/**
 * The port to a payment processor. An adapter makes no decision about a payment: it asks, and says exactly what
 * is known of the answer. Amounts are integers in the smallest unit of the currency (ISO 4217), currencies upper
 * case.
 */
export interface Processor {
  /** The path segment that names it. */
  readonly name: string;

  /** Whether the processor lets this token be charged once only, so that the token itself is an idempotency key. */
  isSingleUse(token: string): boolean;

  /**
   * Asks for one charge. Called again with the same `processorKey` and the same request it must not charge a
   * second time. Never rejects for what a processor or a network can do: that is an outcome.
   */
  charge(request: ChargeRequest): Promise<ChargeOutcome>;
}

export interface ChargeRequest {
  /** Our payment id, left with the processor so that the charge can be found by it. */
  readonly paymentId: string;
  /** Our own random idempotency key towards the processor; the caller's key never leaves the service. */
  readonly processorKey: string;
  readonly amount: number;
  readonly currency: string;
  readonly token: string;
  /** Give up waiting after this long. */
  readonly timeoutMs: number;
}

export type ChargeOutcome =
  /** The money has moved. */
  | { readonly kind: 'succeeded'; readonly chargeId: string }
  /** The issuer or the processor's risk rules said no; nothing was charged. */
  | { readonly kind: 'declined'; readonly declineCode: string; readonly authenticationRequired: boolean }
  /** The processor will not take this request; nothing was charged, and asking again changes nothing. */
  | {
      readonly kind: 'refused';
      readonly param?: 'amount' | 'currency' | 'token';
      readonly message: string;
      readonly detail: string;
    }
  /** The processor could not be asked, or turned us away before looking at the charge; nothing was charged. */
  | { readonly kind: 'not_taken'; readonly detail: string }
  /** Anything else: it may or may not have been charged. */
  | { readonly kind: 'unknown'; readonly detail: string };

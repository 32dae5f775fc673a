/** Stripe's objects, with the fields that this service reads and Stripe's names for them. */

export type Metadata = Readonly<Record<string, string>>;

export interface Intent {
  readonly id: string;
  readonly object: 'payment_intent';
  readonly amount: number;
  /** 0 until it has succeeded. */
  readonly amount_received: number;
  readonly currency: string;
  readonly status:
    | 'requires_confirmation'
    | 'requires_payment_method'
    | 'processing'
    | 'requires_action'
    | 'succeeded'
    | 'canceled';
  /** Seconds since 1970, as everywhere at Stripe. */
  readonly created: number;
  readonly metadata: Metadata;
  /** Also set for a declined charge. */
  readonly latest_charge: string | null;
  readonly last_payment_error: Readonly<Record<string, string>> | null;
  readonly payment_method: string | null;
  readonly client_secret?: string;
  readonly next_action?: {
    readonly type: 'redirect_to_url';
    readonly redirect_to_url: { readonly url: string; readonly return_url: string };
  } | null;
}

export interface Charge {
  readonly id: string;
  readonly object: 'charge';
  readonly amount: number;
  readonly amount_refunded: number;
  readonly currency: string;
  readonly status: 'succeeded' | 'failed';
  readonly captured: boolean;
  readonly created: number;
  /** Stripe copies it from the PaymentIntent. */
  readonly metadata: Metadata;
  readonly payment_intent: string;
}

export interface Refund {
  readonly id: string;
  readonly object: 'refund';
  readonly amount: number;
  readonly currency: string;
  readonly status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  readonly created: number;
  readonly metadata: Metadata;
  readonly charge: string;
  readonly payment_intent: string;
}

export interface Dispute {
  readonly id: string;
  readonly object: 'dispute';
  readonly amount: number;
  readonly currency: string;
  readonly status: string;
  readonly reason: string;
  readonly created: number;
  readonly metadata: Metadata;
  readonly charge: string;
  readonly payment_intent: string;
}

/** Stripe's records, oldest first. */
export interface StripeRecords {
  readonly intents: readonly Intent[];
  /** Declined charges too, whose status is `failed`. */
  readonly charges: readonly Charge[];
  readonly refunds: readonly Refund[];
}

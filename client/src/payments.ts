import { CounterfoilError } from './error.ts';
import { type Http, path } from './http.ts';
import { sendAgain } from './retry.ts';
import {
  clientSecretHeader,
  clientSecretOf,
  type MoneyOptions,
  settle,
  type UnknownOutcome,
} from './settle.ts';
import type { CallOptions } from './tables.ts';

/** The address of a payment: `/stage/payment/<processor>/<route>`. */
export interface PaymentPlace {
  /** `stripe`, `square`, or `simulated` under `serve --simulate`. */
  readonly processor: string;
  /** A payment route of the settings; `charge` by default. */
  readonly route?: string;
}

export interface PayRequest extends PaymentPlace, MoneyOptions {
  /** In the smallest unit of the currency, unless the settings of the route say otherwise: 1050 is EUR 10.50. */
  readonly amount: number;
  /** ISO 4217. */
  readonly currency: string;
  /** The processor's card token. */
  readonly token: string;
  /**
   * The URL to which the cardholder returns from their bank. Without it, a card that needs authentication is declined.
   */
  readonly returnUrl?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The purpose of the payment, which the processor's dashboard shows. */
  readonly description?: string;
  /** The text that follows the shop's name on the card statement. */
  readonly statement_descriptor_suffix?: string;
  /** The email address to which the processor sends its receipt. */
  readonly receipt_email?: string;
}

/** A payment that a page has requested with a publishable key. */
interface OfPage {
  /** Reads the payment without a key (`payments.get`); undefined unless a publishable key has requested it. */
  readonly clientSecret?: string | undefined;
}

export interface Succeeded extends OfPage {
  readonly status: 'succeeded';
  readonly idempotencyKey: string;
  readonly paymentId: string;
  readonly chargeId: string;
}

/** Nothing was charged, and a repeated request with this idempotency key will not charge either. */
export interface Declined extends OfPage {
  readonly status: 'declined';
  readonly idempotencyKey: string;
  readonly paymentId: string;
  /** In the processor's words. */
  readonly declineCode: string;
  readonly error: CounterfoilError;
}

export interface NextAction {
  readonly type: 'redirect';
  readonly url: string;
  readonly client_secret?: string;
}

/** Nothing is charged until the cardholder has authenticated. */
export interface RequiresAction extends OfPage {
  readonly status: 'requires_action';
  readonly idempotencyKey: string;
  readonly paymentId: string;
  /** Send the browser to its URL, or give its `client_secret` to the processor's own script. */
  readonly nextAction: NextAction;
}

export type PayResult = Succeeded | Declined | RequiresAction | UnknownOutcome;

export interface RefundRequest extends PaymentPlace, MoneyOptions {
  readonly paymentId: string;
  /** In the unit of the route. Without it, everything that is left is refunded. */
  readonly amount?: number;
}

/** The processor accepted the refund. It is `pending` until the bank confirms it. */
export interface Refunded {
  readonly status: 'succeeded' | 'pending';
  readonly idempotencyKey: string;
  readonly refund: Refund;
}

/** The bank rejected the refund; nothing was refunded. */
export interface RefundFailed {
  readonly status: 'failed';
  readonly idempotencyKey: string;
  readonly error: CounterfoilError;
}

export type RefundResult = Refunded | RefundFailed | UnknownOutcome;

export type PaymentStatus =
  | 'calling'
  | 'requires_action'
  | 'in_doubt'
  | 'succeeded'
  | 'declined'
  | 'needs_review';
export type RefundStatus = 'calling' | 'in_doubt' | 'pending' | 'succeeded' | 'failed' | 'needs_review';

export interface Refund {
  readonly refund_id: string;
  readonly payment_id: string;
  readonly status: RefundStatus;
  readonly amount: number;
  readonly currency: string;
  readonly processor_refund_id: string | null;
  readonly created_at: string;
}

export interface Dispute {
  readonly id: string;
  readonly amount: number;
  readonly status: string;
  readonly reason: string;
}

export interface Payment {
  readonly id: string;
  readonly status: PaymentStatus;
  readonly processor: string;
  readonly amount: number;
  readonly currency: string;
  /** How the amount was computed from the price of the route; null if the route has no price. */
  readonly price: {
    readonly type: 'payer' | 'fixed' | 'table';
    readonly table?: string;
    readonly id?: string;
    readonly unit_amount?: number;
    readonly quantity?: number;
  } | null;
  readonly charge_id: string | null;
  readonly decline_code: string | null;
  /** Only for a payment that was retrieved by id or key and requires action. */
  readonly next_action?: NextAction;
  readonly created_at: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly description: string | null;
  readonly statement_descriptor_suffix: string | null;
  readonly item: {
    readonly table: string;
    readonly id: string | null;
    readonly status: 'awaited' | 'made' | 'not_made' | 'conflict' | 'deleted' | 'not_deleted';
  } | null;
  readonly amount_refunded: number;
  readonly refunds: readonly Refund[];
  readonly disputes: readonly Dispute[];
}

export interface ListRequest extends PaymentPlace, CallOptions {
  /** The maximum number of payments on a page, 1 to 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** The time from which payments are listed: a date or an RFC 3339 time. */
  readonly since?: string;
  /** Only payments in this state. */
  readonly status?: PaymentStatus;
}

export interface PaymentPage {
  readonly payments: readonly Payment[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

export interface PriceRequest extends PaymentPlace, CallOptions {
  /** The metadata fields that the price depends on. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** In the smallest unit of the currency. */
export interface Price {
  readonly amount: number;
  readonly currency: string;
  /** Only on a route with a quantity. */
  readonly unit_amount?: number;
  readonly quantity?: number;
}

export interface PaymentRequest extends PaymentPlace, CallOptions {
  readonly paymentId: string;
}

export interface RetrieveRequest extends PaymentRequest {
  /**
   * The secret from the result of `pay`. With it, a page reads this one payment, without a key that may read payments.
   */
  readonly clientSecret?: string | undefined;
}

export function pay(http: Http, request: PayRequest): Promise<PayResult> {
  const { amount, currency, token, metadata, description, statement_descriptor_suffix, receipt_email } =
    request;
  const body = {
    amount,
    currency,
    token,
    return_url: request.returnUrl,
    metadata,
    description,
    statement_descriptor_suffix,
    receipt_email,
  };
  const call = { method: 'POST', path: pathOf(request), body };
  return settle<{ message?: { charge_id?: string } }, PayResult>(http, call, request, {
    success: ({ body, headers }, idempotencyKey) => {
      const chargeId = body?.message?.charge_id;
      if (typeof chargeId !== 'string') return undefined;
      const paymentId = headers.get('payment-id') ?? '';
      const clientSecret = clientSecretOf({ headers });
      return { status: 'succeeded', idempotencyKey, paymentId, clientSecret, chargeId };
    },
    failure: (error, idempotencyKey) => {
      if (error.code !== 'card_declined' && error.code !== 'authentication_required') return undefined;
      const { next_action: nextAction } = error.body;
      const paymentId = error.headers?.get('payment-id') ?? '';
      const clientSecret = clientSecretOf(error);
      return nextAction === undefined
        ? {
            status: 'declined',
            idempotencyKey,
            paymentId,
            clientSecret,
            declineCode: error.declineCode,
            error,
          }
        : { status: 'requires_action', idempotencyKey, paymentId, clientSecret, nextAction };
    },
  });
}

export function refund(http: Http, request: RefundRequest): Promise<RefundResult> {
  const { amount, paymentId } = request;
  const call = { method: 'POST', path: path(pathOf(request), paymentId, 'refund'), body: { amount } };
  return settle<Refund, RefundResult>(http, call, request, {
    success: ({ body }, idempotencyKey) =>
      body?.status === 'succeeded' || body?.status === 'pending'
        ? { status: body.status, idempotencyKey, refund: body }
        : undefined,
    failure: (error, idempotencyKey) =>
      error.code === 'processor_error' && !error.retryable
        ? { status: 'failed', idempotencyKey, error }
        : undefined,
  });
}

export class Payments {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  /** The payments of a route, in the order in which they were made. */
  async list({ limit, after, since, status, signal, ...place }: ListRequest): Promise<PaymentPage> {
    const query = { limit, after, since, status };
    const call = { method: 'GET', path: pathOf(place), query, signal };
    const { body, next } = await sendAgain<Payment[]>(this.#http, call);
    return { payments: body, next };
  }

  /** The current price of a payment, for a page to show. */
  async price({ metadata, signal, ...place }: PriceRequest): Promise<Price> {
    const call = { method: 'GET', path: path(pathOf(place), 'price'), query: { ...metadata }, signal };
    return (await sendAgain<Price>(this.#http, call)).body;
  }

  /**
   * The payment as it is now. A payment that waits for its cardholder is looked up at the processor, at most once a
   * second.
   */
  async get({ paymentId, clientSecret, signal, ...place }: RetrieveRequest): Promise<Payment> {
    const headers = { [clientSecretHeader]: clientSecret };
    const call = { method: 'GET', path: path(pathOf(place), paymentId), headers, signal };
    return (await sendAgain<Payment>(this.#http, call)).body;
  }

  /**
   * The payment of an idempotency key. Undefined if no request with this key has arrived; a request may still be on its
   * way.
   */
  async find(
    request: PaymentPlace & CallOptions & { readonly idempotencyKey: string },
  ): Promise<Payment | undefined> {
    const query = { idempotency_key: request.idempotencyKey };
    try {
      const call = { method: 'GET', path: pathOf(request), query, signal: request.signal };
      return (await sendAgain<Payment>(this.#http, call)).body;
    } catch (error) {
      if (error instanceof CounterfoilError && error.code === 'payment_not_found') return undefined;
      throw error;
    }
  }

  /** Cancels a charge whose outcome is unknown. If the charge was made after all, the payment is `succeeded`. */
  async cancel({ paymentId, signal, ...place }: PaymentRequest): Promise<Payment> {
    const call = { method: 'POST', path: path(pathOf(place), paymentId, 'cancel'), signal };
    return (await sendAgain<Payment>(this.#http, call, true)).body;
  }
}

function pathOf({ processor, route = 'charge' }: PaymentPlace): string {
  return path('/stage/payment', processor, route);
}

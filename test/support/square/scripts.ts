/** The effects of the words of a token on its payment and on its refunds. */

export interface SquareFault {
  readonly status: number;
  readonly category: string;
  readonly code: string;
  readonly field?: string;
}

type Delay = 'dropped' | 'held' | 'error';

/** The effect of a word on a payment or on its refunds. */
export interface Script {
  readonly status?: string;
  readonly fault?: SquareFault;
  /** Further errors in the response. */
  readonly more?: readonly SquareFault[];
  /** The fault of the reply after the request was executed. */
  readonly delivery?: Delay;
  /** Whether `repair` ends the fault. */
  readonly passes?: boolean;
  readonly refund?: Omit<Script, 'refund'>;
  /** The first request with a key is lost, and every later one is rejected, until `repair`. */
  readonly pair?: { readonly loss: Loss; readonly rejection: SquareFault };
}

/** `before`: nothing was done. */
export type Loss = 'reset before' | 'reset after' | 'cut';

const declined = (code: string): Script => ({ fault: fault(402, 'PAYMENT_METHOD_ERROR', code) });
const invalid = (code: string, field?: string): Script => ({
  fault: fault(400, 'INVALID_REQUEST_ERROR', code, field),
});
export const outOfOrder = fault(500, 'API_ERROR', 'INTERNAL_SERVER_ERROR');

const rejections: Readonly<Record<number, SquareFault>> = {
  429: fault(429, 'RATE_LIMIT_ERROR', 'RATE_LIMITED'),
  401: fault(401, 'AUTHENTICATION_ERROR', 'UNAUTHORIZED'),
  403: fault(403, 'AUTHENTICATION_ERROR', 'INSUFFICIENT_SCOPES'),
  400: fault(400, 'INVALID_REQUEST_ERROR', 'BAD_REQUEST'),
  404: fault(404, 'INVALID_REQUEST_ERROR', 'NOT_FOUND'),
};

/** Every loss with every rejection: `reset-after-charging-then-429`, `refund-cut-then-404` … */
function pairsOf(words: Readonly<Record<string, Loss>>, isRefund: boolean): Record<string, Script> {
  const entries = Object.entries(words).flatMap(([word, loss]) =>
    Object.entries(rejections).map(([status, rejection]): [string, Script] => {
      const script = { pair: { loss, rejection } };
      return [`${word}-then-${status}`, isRefund ? { refund: script } : script];
    }),
  );
  return Object.fromEntries(entries);
}

export const scripts: Readonly<Record<string, Script>> = {
  ...pairsOf(
    {
      'reset-before-charging': 'reset before',
      'reset-after-charging': 'reset after',
      'cut-after-charging': 'cut',
    },
    false,
  ),
  ...pairsOf(
    { 'refund-reset-before': 'reset before', 'refund-reset-after': 'reset after', 'refund-cut': 'cut' },
    true,
  ),
  paid: {},
  'card-nonce-ok': {},
  'customer-card-id-ok': {},
  approved: { status: 'APPROVED' },
  pending: { status: 'PENDING' },
  canceled: { status: 'CANCELED' },
  failed: { status: 'FAILED' },
  'insufficient-funds': declined('INSUFFICIENT_FUNDS'),
  'generic-decline': declined('GENERIC_DECLINE'),
  'card-declined': declined('CARD_DECLINED'),
  'cvv-failure': declined('CVV_FAILURE'),
  'transaction-limit': declined('TRANSACTION_LIMIT'),
  'card-expired': { fault: fault(400, 'PAYMENT_METHOD_ERROR', 'CARD_EXPIRED', 'source_id') },
  'gift-card-too-low': {
    fault: fault(402, 'PAYMENT_METHOD_ERROR', 'GIFT_CARD_AVAILABLE_AMOUNT'),
    more: [fault(402, 'PAYMENT_METHOD_ERROR', 'INSUFFICIENT_FUNDS')],
  },
  'verification-required': declined('CARD_DECLINED_VERIFICATION_REQUIRED'),
  'pin-required': {
    fault: fault(402, 'PAYMENT_METHOD_ERROR', 'APPLE_TTP_PIN_TOKEN'),
    more: [fault(402, 'PAYMENT_METHOD_ERROR', 'CARD_DECLINED_VERIFICATION_REQUIRED')],
  },
  'token-used': invalid('CARD_TOKEN_USED'),
  'token-expired': invalid('CARD_TOKEN_EXPIRED', 'source_id'),
  'card-data-invalid': invalid('INVALID_CARD_DATA', 'source_id'),
  'card-invalid': { fault: fault(400, 'PAYMENT_METHOD_ERROR', 'INVALID_CARD') },
  'source-malformed': invalid('INVALID_VALUE', 'source_id'),
  'amount-too-high': invalid('AMOUNT_TOO_HIGH'),
  'amount-too-low': invalid('VALUE_TOO_LOW', 'amount_money.amount'),
  'amount-mismatch': invalid('PAYMENT_AMOUNT_MISMATCH', 'amount_money'),
  'currency-mismatch': { fault: fault(400, 'PAYMENT_METHOD_ERROR', 'CURRENCY_MISMATCH') },
  'location-unknown': invalid('NOT_FOUND', 'location_id'),
  'rate-limited': { fault: fault(429, 'RATE_LIMIT_ERROR', 'RATE_LIMITED'), passes: true },
  forbidden: { fault: fault(403, 'AUTHENTICATION_ERROR', 'INSUFFICIENT_SCOPES') },
  conflict: { fault: fault(409, 'INVALID_REQUEST_ERROR', 'CONFLICT'), passes: true },
  'timed-out': { fault: fault(408, 'INVALID_REQUEST_ERROR', 'REQUEST_TIMEOUT'), passes: true },
  'temporary-error': { fault: fault(400, 'API_ERROR', 'TEMPORARY_ERROR'), passes: true },
  'error-before-charging': { fault: outOfOrder, passes: true },
  'error-after-charging': { delivery: 'error' },
  'dropped-after-charging': { delivery: 'dropped' },
  'declined-and-dropped': { ...declined('INSUFFICIENT_FUNDS'), delivery: 'dropped' },
  'never-replies': { delivery: 'held' },
  'refund-completed': { refund: { status: 'COMPLETED' } },
  'refund-rejected': { refund: { status: 'REJECTED' } },
  'refund-failed': { refund: { status: 'FAILED' } },
  'refund-already-pending': { refund: { fault: fault(400, 'REFUND_ERROR', 'REFUND_ALREADY_PENDING') } },
  'refund-disputed': {
    refund: { fault: fault(400, 'REFUND_ERROR', 'PAYMENT_NOT_REFUNDABLE_DUE_TO_DISPUTE') },
  },
  'refund-rate-limited': { refund: { fault: fault(429, 'RATE_LIMIT_ERROR', 'RATE_LIMITED') } },
  'refund-error': { refund: { fault: outOfOrder, passes: true } },
  'refund-dropped': { refund: { delivery: 'dropped' } },
  'refund-never-replies': { refund: { delivery: 'held' } },
};

/** The tokens whose payment, or whose refund, meets a pair of faults. */
export function tokensOfPairs(what: 'payment' | 'refund'): string[] {
  const words = Object.keys(scripts).filter((word) => {
    const { pair, refund } = scripts[word] ?? {};
    return (what === 'payment' ? pair : refund?.pair) !== undefined;
  });
  return words.map((word) => `cnon:${word}`);
}

/** A single-use nonce that pays, as long as those of Square's Web Payments SDK. */
export const singleUseNonce = 'cnon:CBASEExampleOnceUsable_0';

export function isSingleUse(token: string): boolean {
  return token.startsWith('cnon:CBA');
}

export function wordOf(token: string): string {
  return token.replace(/^(cnon|ccof):/, '');
}

export function fault(status: number, category: string, code: string, field?: string): SquareFault {
  return { status, category, code, ...(field === undefined ? {} : { field }) };
}

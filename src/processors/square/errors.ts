/** What an error of the SDK tells; nothing but codes, because Square's sentences repeat what was sent. */
export interface Fault {
  /** Undefined when there was no reply. */
  readonly status: number | undefined;
  readonly codes: readonly string[];
  readonly categories: readonly string[];
  readonly fields: readonly string[];
  /** For the log. */
  readonly detail: string;
}

/** The categories that say that Square has understood the request and will not carry it out. */
const definiteCategories = [
  'INVALID_REQUEST_ERROR',
  'PAYMENT_METHOD_ERROR',
  'REFUND_ERROR',
  'MERCHANT_SUBSCRIPTION_ERROR',
];
/** They speak of another request, which may have gone through, or of a fault of Square's own. */
const doubtfulCodes = ['IDEMPOTENCY_KEY_REUSED', 'CONFLICT', 'REQUEST_TIMEOUT', 'TEMPORARY_ERROR'];

/** https://developer.squareup.com/docs/build-basics/general-considerations/handling-errors */
export function faultOf(error: unknown): Fault {
  const { name, statusCode, errors } = error as { name?: unknown; statusCode?: unknown; errors?: unknown };
  const status = typeof statusCode === 'number' ? statusCode : undefined;
  const told = Array.isArray(errors) ? errors : [];
  const codes = wordsOf(told, 'code');
  const detail = [String(name), ...(status === undefined ? [] : [status]), ...codes].join(' ');
  return { status, codes, categories: wordsOf(told, 'category'), fields: wordsOf(told, 'field'), detail };
}

/** Before it looked at the request: the HTTP status decides. */
export function wasTurnedAway({ status }: Fault): boolean {
  return status === 401 || status === 403 || status === 429;
}

/** Anything that Square did not word itself, a gateway on the way for instance, proves nothing. */
export function isDefiniteRefusal({ status, codes, categories }: Fault): boolean {
  if (status === undefined || status < 400 || status >= 500 || status === 408 || status === 409) return false;
  if (codes.some((code) => doubtfulCodes.includes(code))) return false;
  return categories.length > 0 && categories.every((category) => definiteCategories.includes(category));
}

function wordsOf(errors: readonly unknown[], key: 'code' | 'category' | 'field'): string[] {
  return errors
    .map((each) => (each as Record<string, unknown> | null)?.[key])
    .filter((word) => typeof word === 'string')
    .filter((word) => /^[A-Za-z0-9_.]{1,64}$/.test(word));
}

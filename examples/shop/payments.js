/**
 * Payments of the route `ticket`, as a page makes them: with a publishable key, and without a server of its own. The
 * reference is docs/payments.md.
 */
const { payments, key } = document.documentElement.dataset;

/** A request that charged nothing. `code` is one of docs/errors.md. */
export class PaymentError extends Error {
  constructor({ message, code, retryable }) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

/** The price of a seat now: `{ amount, currency }`, the amount in the smallest unit of the currency. */
export async function priceOf(processor, seat) {
  const url = `${urlOf(processor)}/price?${new URLSearchParams({ seat })}`;
  const { ok, body } = await call(url, { headers: { Authorization: `Bearer ${key}` } });
  if (!ok) throw new PaymentError(body.error);
  return body;
}

/**
 * Sends a charge once, and returns where its payment can be read: `{ path, secret }`. The same idempotency key returns the
 * same payment, so that a request whose response was lost can be sent again.
 *
 * @throws PaymentError if nothing was charged and there is no payment to read; another error if no response came
 */
export async function charge(processor, idempotencyKey, fields) {
  const { body, headers } = await call(urlOf(processor), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': idempotencyKey,
    },
    body: JSON.stringify(fields),
  });
  const path = headers.get('Location');
  const secret = headers.get('Payment-Client-Secret');
  // The payment knows better than the response whether the card was charged, declined, or waits for its holder.
  if (path && secret && body.error?.code !== 'processor_error') return { path, secret };
  throw new PaymentError(body.error);
}

/** Reads a payment with its secret, or undefined if the secret is not valid: then the payment is of another service. */
export async function read({ path, secret }) {
  const { ok, status, body } = await call(new URL(path, payments), {
    headers: { 'Payment-Client-Secret': secret },
  });
  if (status === 401) return undefined;
  if (!ok) throw new PaymentError(body.error);
  return body;
}

function urlOf(processor) {
  return `${payments}/stage/payment/${processor}/ticket`;
}

async function call(url, init) {
  const response = await fetch(url, init);
  const { body } = await response.json();
  return { ok: response.ok, status: response.status, headers: response.headers, body };
}

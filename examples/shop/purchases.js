import { charge, PaymentError, read } from './payments.js';

/**
 * The purchases of this tab. A purchase is stored before it is sent, so that a reload, a lost response or the way to the bank
 * and back loses nothing: sent again with its idempotency key, it is charged at most once.
 */
const place = 'purchases';
const sendsMax = 5;
const waitMs = 1_000;

export function purchases() {
  return JSON.parse(sessionStorage.getItem(place) ?? '[]');
}

/** Stores a purchase in place of the one with its idempotency key. */
export function keep(purchase) {
  store([...othersOf(purchase), purchase]);
}

export function drop(purchase) {
  store(othersOf(purchase));
}

/**
 * The payment of a purchase, after sending the purchase if no response to it has come yet.
 *
 * @returns undefined if the payment is of another service
 * @throws PaymentError if nothing was charged; another error if the service does not respond
 */
export async function paymentOf(purchase) {
  for (let sends = 1; ; sends++) {
    try {
      return await read(purchase.secret ? purchase : await sent(purchase));
    } catch (error) {
      if (!(error instanceof PaymentError)) keep(Object.assign(purchase, { mayHaveArrived: true }));
      if (isFinal(error) || sends === sendsMax) throw error;
    }
    await pause();
  }
}

/** Whether an error of `paymentOf` means that the purchase charged nothing, and never will unless it is sent again. */
export function isNothingCharged({ secret, mayHaveArrived }, error) {
  return secret === undefined && error instanceof PaymentError && (isFinal(error) || !mayHaveArrived);
}

/** Reads the payment until the processor, or the bank, has decided. Calls `onWait` with each state before that. */
export async function outcomeOf(purchase, onWait) {
  for (;;) {
    const payment = await paymentOf(purchase);
    if (!['calling', 'in_doubt', 'requires_action'].includes(payment?.status)) return payment;
    onWait(payment);
    await pause();
  }
}

async function sent(purchase) {
  const { processor, idempotencyKey, fields } = purchase;
  const where = await charge(processor, idempotencyKey, fields);
  Object.assign(purchase, where);
  // The token is of no more use.
  delete purchase.fields;
  keep(purchase);
  return purchase;
}

/** A seat that is taken stays taken for longer than a page waits. */
function isFinal(error) {
  return error instanceof PaymentError && (!error.retryable || error.code === 'item_exists');
}

function othersOf({ idempotencyKey }) {
  return purchases().filter((other) => other.idempotencyKey !== idempotencyKey);
}

function store(list) {
  sessionStorage.setItem(place, JSON.stringify(list));
}

function pause() {
  return new Promise((resolve) => {
    setTimeout(resolve, waitMs);
  });
}

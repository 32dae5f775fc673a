import { drop, isNothingCharged, keep, outcomeOf, paymentOf, purchases } from './purchases.js';
import { chosenSeat, markSeat, showSeats, written } from './seating-plan.js';
import { showSession } from './session.js';
// For real cards, import ./stripe.js, which says what else to change.
import { processor, showCardForm } from './simulated.js';

const order = document.getElementById('order');
const button = document.getElementById('pay');
const message = document.getElementById('message');

let isBuying = false;
const makeToken = showCardForm(document.getElementById('card'));
const [isSignedIn] = await Promise.all([showSession(), showSeats(processor)]);
order.addEventListener('change', showButton);
order.addEventListener('submit', (event) => {
  event.preventDefault();
  void buy(chosenSeat());
});
// A browser may show the page as it was left when the buyer goes back from the bank.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload();
});
showButton();
// Also the purchase that went to the bank: the buyer has come back to this page.
await Promise.all(purchases().map((purchase) => follow(purchase)));

function showButton() {
  const chosen = chosenSeat();
  button.textContent = chosen ? `Pay ${written(chosen.amount, chosen.currency)}` : 'Pay';
  button.disabled = !isSignedIn || isBuying || chosen === undefined;
}

async function buy({ seat, amount, currency }) {
  isBuying = true;
  showButton();
  message.textContent = 'Paying…';
  try {
    const token = await makeToken();
    const returnUrl = location.origin + location.pathname;
    const fields = { amount, currency, token, return_url: returnUrl, metadata: { seat } };
    const purchase = { seat, processor, idempotencyKey: crypto.randomUUID(), fields };
    keep(purchase);
    await follow(purchase, true);
  } catch (error) {
    // The card form made no token.
    message.textContent = error.message;
  }
  isBuying = false;
  showButton();
}

/** Follows a purchase to its outcome and shows it. @param isNew whether to send the buyer to the bank if it asks */
async function follow(purchase, isNew = false) {
  try {
    const payment = await paymentOf(purchase);
    if (isNew && payment?.status === 'requires_action') location.assign(payment.next_action.url);
    else showOutcome(purchase, await outcomeOf(purchase, showWaiting));
  } catch (error) {
    showFailure(purchase, error);
  }
}

function showWaiting({ status, next_action: action }) {
  if (status !== 'requires_action') message.textContent = 'Your card is being charged…';
  else if (message.firstElementChild?.href !== action.url) {
    const link = Object.assign(document.createElement('a'), { href: action.url });
    link.textContent = 'Confirm the payment at your bank';
    message.replaceChildren(link);
  }
}

function showOutcome(purchase, payment) {
  const { seat } = purchase;
  if (payment?.status === 'succeeded') {
    showTicket(purchase, payment);
    return;
  }
  if (payment?.status === 'needs_review') {
    message.textContent = `The shop is finding out whether you have paid for seat ${seat}.`;
    return;
  }
  drop(purchase);
  if (payment === undefined) return;
  const reason = payment.decline_code.replaceAll('_', ' ');
  message.textContent = `Your card was declined: ${reason}. Nothing was charged, and seat ${seat} is free.`;
}

function showTicket(purchase, { id, amount, currency, amount_refunded: refunded, item }) {
  const { seat } = purchase;
  const ticket = document.createElement('li');
  const code = Object.assign(document.createElement('code'), { textContent: id });
  const isValid = item.status === 'made';
  const what = isValid
    ? written(amount, currency)
    : refunded > 0
      ? 'refunded'
      : 'not yours; ask for a refund';
  ticket.append(`Seat ${seat}: ${what}, payment `, code);
  document.getElementById('tickets').append(ticket);
  if (!isValid) return;
  markSeat(seat, true);
  if (purchase.isShown) return;
  message.textContent = `You have seat ${seat}.`;
  keep({ ...purchase, isShown: true });
}

function showFailure(purchase, error) {
  const { seat } = purchase;
  // The purchase is kept, and sent again after a reload.
  if (!isNothingCharged(purchase, error)) {
    message.textContent = 'There is no response. Reload the page: you are charged at most once.';
    return;
  }
  drop(purchase);
  if (error.code !== 'item_exists') message.textContent = error.message;
  else if (error.retryable)
    message.textContent = `Somebody is paying for seat ${seat}. Try again in a minute.`;
  else {
    message.textContent = `Seat ${seat} is taken. Nothing was charged.`;
    markSeat(seat, true);
  }
}

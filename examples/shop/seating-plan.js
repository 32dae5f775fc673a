import { priceOf } from './payments.js';

const plan = document.getElementById('seats');

/** Shows each seat with its price, and returns when all prices are there. */
export function showSeats(processor) {
  return Promise.all(plan.dataset.seats.split(' ').map((seat) => showSeat(processor, seat)));
}

/** The chosen seat with its price, or undefined. */
export function chosenSeat() {
  const input = plan.querySelector(':checked');
  if (input === null) return undefined;
  return { seat: input.value, amount: Number(input.dataset.amount), currency: input.dataset.currency };
}

/** Marks a seat as taken, or as free. */
export function markSeat(seat, isTaken) {
  const input = plan.querySelector(`[value="${seat}"]`);
  input.disabled = isTaken;
  if (isTaken) input.checked = false;
  showPrice(input);
}

/** An amount in the smallest unit, as people write it. */
export function written(amount, currency) {
  const format = new Intl.NumberFormat(document.documentElement.lang, { style: 'currency', currency });
  return format.format(amount / 10 ** format.resolvedOptions().maximumFractionDigits);
}

async function showSeat(processor, seat) {
  const label = document.createElement('label');
  const input = Object.assign(document.createElement('input'), { type: 'radio', name: 'seat', value: seat });
  label.append(input, seat, document.createElement('span'));
  plan.append(label);
  input.disabled = true;
  try {
    const { amount, currency } = await priceOf(processor, seat);
    Object.assign(input.dataset, { amount, currency });
    markSeat(seat, false);
  } catch {
    label.lastElementChild.textContent = 'not on sale';
  }
}

function showPrice(input) {
  const { amount, currency } = input.dataset;
  input.parentElement.lastElementChild.textContent = input.disabled ? 'taken' : written(amount, currency);
}

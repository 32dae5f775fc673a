import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chargeLeaseMs } from '../../src/limits.ts';
import { type Payment, paymentsSpace } from '../../src/payments/payment.ts';
import type { LedgerCharge } from '../../src/processors/simulated-ledger.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { startLedgerProcess } from '../support/ledger-process.ts';
import { startScriptedStripe } from '../support/scripted-stripe.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { type ServiceProcess, startServiceProcess, tryToSend } from './service-process.ts';

const path = '/stage/payment/simulated/charge';
const kills = 3;
const callers = 16;
/** Half of the charges go well at once; slow ones are under way at every kill, lost ones in doubt. */
const tokens = [
  'paid',
  'paid',
  'paid',
  'paid',
  'visa',
  'slow',
  'lost_reply',
  'insufficient_funds',
  'lost_card',
];

interface Order {
  readonly key: string;
  /** Unlike any other order's, so that charges and payments can be told apart by it. */
  readonly amount: number;
  readonly token: string;
  /** The different texts of its answers, by status. */
  readonly answers: Map<number, Set<string>>;
}

describe('killed and stopped services', { concurrency: true }, () => {
  test('charges each key once and tells every charge, however often the service is killed', async (t) => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
    t.diagnostic(`SEED=${seed}`);
    const random = randomFrom(seed);
    const ledger = await startLedgerProcess(t);
    const data = newDataFolder(t);
    const env = { COUNTERFOIL_SIMULATED_LEDGER: ledger.origin };
    const orders: Order[] = [];

    let unanswered = 0;
    for (let kill = 1; kill <= kills; kill++) {
      const service = await startServiceProcess(t, { data, env });
      const killed = sleep(100 + random() * 1_500).then(service.kill);
      unanswered += await keepOrdering(service.origin, orders, random, killed);
    }
    assert.ok(unanswered > 0, 'no kill has met a request');

    // The last process lives a lease later, when nobody can hold what the killed ones were doing any more.
    const survivor = await startTestService(t, { data, env, now: () => Date.now() + chargeLeaseMs });
    await Promise.all(orders.map((order) => sendUntilFinal(survivor.origin, order)));
    await Promise.all(orders.map((order) => send(survivor.origin, order)));
    await survivor.stop();

    const charges = await ledger.charges();
    const payments = await storedPayments(data);
    t.diagnostic(
      `${orders.length} orders, ${unanswered} of their requests unanswered, ${charges.length} charges`,
    );
    assertNothingTwice(charges.map(({ key }) => key));
    assertNothingTwice(charges.map(({ amount }) => amount));
    assertSameAmounts(payments, orders);
    const succeeded = payments.filter(({ state }) => state === 'succeeded');
    assert.deepEqual(succeeded.map(factsOfPayment).sort(), charges.map(factsOfCharge).sort());
    for (const order of orders) assertAnswers(order, charges);
  });

  test('ends within 10 s of SIGTERM while the processor keeps a charge in doubt waiting', async (t) => {
    const { stripe, settings } = await startSilentStripe(t);
    stripe.holds = false;
    // Its clock is slow, so that for the next process the charge is due.
    const before = await startTestService(t, { ...settings, now: () => Date.now() - chargeLeaseMs });
    const lost = { amount: 1_050, currency: 'EUR', token: 'tok_dropped_after_charging' };
    assert.equal((await before.post('/stage/payment/stripe/charge', lost)).status, 504);
    await before.stop();

    stripe.holds = true;
    const sent = stripe.requests.length;
    const service = await startServiceProcess(t, settings);
    while (stripe.requests.length === sent) await sleep(20);
    await endsInTime(service);
  });

  test('ends within 10 s of SIGTERM while the processor keeps a caller waiting', async (t) => {
    const { stripe, settings } = await startSilentStripe(t);
    const service = await startServiceProcess(t, settings);
    const answer = tryToSend(`${service.origin}/stage/payment/stripe/charge`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ amount: 1_050, currency: 'EUR', token: 'tok_paid' }),
    });
    while (stripe.requests.length === 0) await sleep(20);
    await endsInTime(service);
    await answer;
  });
});

async function startSilentStripe(t: TestContext) {
  const stripe = await startScriptedStripe(t);
  stripe.holds = true;
  const env = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  return { stripe, settings: { data: newDataFolder(t), env } };
}

async function endsInTime(service: ServiceProcess): Promise<void> {
  const outOfTime = sleep(10_000, 'still running', { ref: false });
  assert.equal(await Promise.race([service.terminate(), outOfTime]), 0);
}

/** New orders, and earlier ones that have no final answer, until the service is dead. @returns how many got none */
async function keepOrdering(
  origin: string,
  orders: Order[],
  random: () => number,
  killed: Promise<void>,
): Promise<number> {
  const repeated = orders.filter((order) => !isFinal(order));
  let unanswered = 0;
  let dead = false;
  const call = async (): Promise<void> => {
    while (!dead) {
      const earlier = random() < 0.1 ? repeated.shift() : undefined;
      if (!(await send(origin, earlier ?? newOrder(orders, random)))) unanswered++;
      await sleep(random() * 20);
    }
  };
  const calls = Array.from({ length: callers }, call);
  await killed;
  dead = true;
  await Promise.all(calls);
  return unanswered;
}

function newOrder(orders: Order[], random: () => number): Order {
  const number = orders.length + 1;
  const token = `tok_${tokens[Math.floor(random() * tokens.length)]}`;
  const order: Order = { key: `order-${number}`, amount: 1_000 + number, token, answers: new Map() };
  orders.push(order);
  return order;
}

async function sendUntilFinal(origin: string, order: Order): Promise<void> {
  const giveUpAt = Date.now() + 20_000;
  while (!isFinal(order)) {
    assert.ok(Date.now() < giveUpAt, `${order.key} with ${order.token} has no final answer`);
    await send(origin, order);
    if (!isFinal(order)) await sleep(100);
  }
}

/** @returns whether there was an answer */
async function send(origin: string, { key, amount, token, answers }: Order): Promise<boolean> {
  const answer = await tryToSend(origin + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ amount, currency: 'EUR', token }),
  });
  if (answer === undefined) return false;
  const texts = answers.get(answer.status) ?? new Set<string>();
  answers.set(answer.status, texts.add(answer.text));
  return true;
}

function isFinal({ answers }: Order): boolean {
  return answers.has(200) || answers.has(402);
}

/** One final answer, the same to the byte whenever and by whomever it was given, and it is the truth. */
function assertAnswers({ key, amount, answers }: Order, charges: readonly LedgerCharge[]): void {
  const charge = charges.find((made) => made.amount === amount);
  const final = charge === undefined ? 402 : 200;
  const allowed = new Set([final, 504, 409]);
  const statuses = [...answers.keys()];
  assert.ok(
    statuses.every((status) => allowed.has(status)),
    `${key} was answered ${statuses.join(', ')}`,
  );
  const texts = [...(answers.get(final) ?? [])];
  assert.equal(texts.length, 1, `${key} has ${texts.length} different answers`);
  if (charge !== undefined)
    assert.ok(texts[0]?.includes(`"charge_id":"${charge.chargeId}"`), String(texts[0]));
}

function assertNothingTwice(values: readonly unknown[]): void {
  assert.equal(new Set(values).size, values.length);
}

/** Each order has one payment, and each payment an order. */
function assertSameAmounts(payments: readonly Payment[], orders: readonly Order[]): void {
  const sorted = (amounts: readonly { amount: number }[]) => amounts.map(({ amount }) => amount).sort();
  assert.deepEqual(sorted(payments), sorted(orders));
}

function factsOfPayment({ id, processorKey, chargeId, amount, currency }: Payment): string {
  return [id, processorKey, chargeId, amount, currency].join(' ');
}

function factsOfCharge({ paymentId, key, chargeId, amount, currency }: LedgerCharge): string {
  return [paymentId, key, chargeId, amount, currency].join(' ');
}

async function storedPayments(data: string): Promise<Payment[]> {
  const engine = openLmdbEngine(data);
  const payments: Payment[] = [];
  for await (const { name } of itemsOf((await engine.scan(paymentsSpace))?.chunks ?? []))
    payments.push(JSON.parse(name));
  await engine.close();
  return payments;
}

/** Mulberry32: the same seed gives the same numbers from 0 to 1. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

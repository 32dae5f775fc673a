import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Payment } from '../../../src/payments/payment.ts';
import { paymentsAfter } from '../../../src/payments/payment-store.ts';
import type { LedgerRecords } from '../../../src/processors/simulated/ledger.ts';
import { itemsOf } from '../../../src/storage/item-text.ts';
import { givenUpMs } from '../busy-machine.ts';
import { between, pick, type Random } from '../random.ts';
import { openStoreOf } from '../service.ts';
import { tryToPost } from '../try-to-send.ts';

/** Each payment of this route creates an item, which identifies it in the table too. */
export const settings = {
  payments: { routes: { order: { on_success: { table: 'paid', id: 'metadata.order', name: 'charge_id' } } } },
};
const path = '/stage/payment/simulated/order';

/** Half of the charges succeed at once; at every kill slow ones are in progress, and lost ones in doubt. */
const tokens = [
  'paid',
  'paid',
  'visa',
  'refund_pending',
  'refund_lost_reply',
  'slow',
  'lost_reply',
  'insufficient_funds',
  'lost_card',
];

/** One order of a shop: a payment, and perhaps refunds of it. */
export interface Order {
  readonly key: string;
  /** Unique, so that it identifies the charge and the payment of this order. */
  readonly amount: number;
  readonly token: string;
  /** The different bodies of the responses to the payment, by status. */
  readonly responses: Map<number, Set<string>>;
  /** The location of the payment, once a response has returned it. */
  at: string | undefined;
  /** The requested refunds, by key: the amount, and the different bodies of the responses by status. */
  readonly refunds: Map<string, { readonly amount: number; readonly responses: Map<number, Set<string>> }>;
}

/** Orders of many callers, at services that are killed and restarted. */
export class Shop {
  readonly orders: Order[] = [];
  readonly #random: Random;
  lost = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Sends new orders, refunds, and earlier orders without a final response, until the services are dead. */
  async trade(origins: readonly string[], callers: number, over: Promise<unknown>): Promise<void> {
    let isOver = false;
    const random = this.#random;
    const open = this.orders.filter((order) => !isFinal(order.responses));
    const call = async (): Promise<void> => {
      while (!isOver) {
        const origin = pick(random, origins);
        const order = (random() < 0.1 ? open.shift() : undefined) ?? this.#newOrder();
        // An impatient caller sends the request twice.
        await Promise.all(Array.from({ length: random() < 0.2 ? 2 : 1 }, () => this.pay(origin, order)));
        if (order.responses.has(200) && random() < 0.4) await this.#refundPart(origin, order);
        await sleep(random() * 20);
      }
    };
    const calls = Array.from({ length: callers }, call);
    await over;
    isOver = true;
    await Promise.all(calls);
  }

  #newOrder(): Order {
    const number = this.orders.length + 1;
    const order: Order = {
      key: `order-${number}`,
      amount: 1_000 + number,
      token: `tok_${pick(this.#random, tokens)}`,
      responses: new Map(),
      at: undefined,
      refunds: new Map(),
    };
    this.orders.push(order);
    return order;
  }

  async pay(origin: string, order: Order): Promise<void> {
    const { key, amount, token } = order;
    const body = { amount, currency: 'EUR', token, metadata: { order: key } };
    const response = await tryToPost(origin + path, body, { 'idempotency-key': key });
    if (response === undefined) this.lost++;
    else note(order.responses, response);
    order.at ??= response?.headers.get('location') ?? undefined;
  }

  async #refundPart(origin: string, order: Order): Promise<void> {
    const key = `refund-${order.refunds.size + 1}`;
    order.refunds.set(key, { amount: between(this.#random, 1, order.amount), responses: new Map() });
    await this.refund(origin, order, key);
  }

  async refund(origin: string, order: Order, key: string): Promise<void> {
    const refund = order.refunds.get(key);
    if (refund === undefined || order.at === undefined) return;
    const url = `${origin}${order.at}/refund`;
    const response = await tryToPost(url, { amount: refund.amount }, { 'idempotency-key': key });
    if (response === undefined) this.lost++;
    else note(refund.responses, response);
  }

  /** Repeats every request until its response is final, and sends it once more. */
  async settleAll(origin: string): Promise<void> {
    const settle = async (responses: Order['responses'], send: () => Promise<void>, what: string) => {
      const giveUpAt = Date.now() + givenUpMs;
      do {
        await send();
        if (!isFinal(responses)) await sleep(100);
        assert.ok(Date.now() < giveUpAt, `${what} has no final response: ${[...responses.keys()]}`);
      } while (!isFinal(responses));
      await send();
    };
    for (const some of readChunks(this.orders, 32)) {
      await Promise.all(
        some.map(async (order) => {
          await settle(order.responses, () => this.pay(origin, order), `${order.key} with ${order.token}`);
          for (const [key, refund] of order.refunds) {
            const send = () => this.refund(origin, order, key);
            await settle(refund.responses, send, `${key} of ${order.key} with ${order.token}`);
          }
        }),
      );
    }
  }
}

function* readChunks<Element>(elements: readonly Element[], size: number): Generator<readonly Element[]> {
  for (let at = 0; at < elements.length; at += size) yield elements.slice(at, at + size);
}

function note(responses: Map<number, Set<string>>, { status, text }: { status: number; text: string }): void {
  responses.set(status, (responses.get(status) ?? new Set<string>()).add(text));
}

function isFinal(responses: ReadonlyMap<number, unknown>): boolean {
  return responses.has(200) || responses.has(402) || responses.has(400);
}

/** Compares all responses with our records, our table and the ledger. */
export async function assertHonest(shop: Shop, books: LedgerRecords, data: string): Promise<void> {
  const { payments, items } = await stored(data);
  assertNothingTwice(books.charges.map(({ key }) => key));
  assertNothingTwice(books.charges.map(({ amount }) => amount));
  assertNothingTwice(books.refunds.map(({ key }) => key));
  const sorted = (amounts: readonly { amount: number }[]) => amounts.map(({ amount }) => amount).sort();
  assert.deepEqual(sorted(payments), sorted(shop.orders), 'each order has one payment');

  const succeeded = payments.filter(({ state }) => state === 'succeeded');
  const facts = (id: string, chargeId: string | undefined, amount: number) =>
    [id, chargeId, amount].join(' ');
  assert.deepEqual(
    succeeded.map(({ id, chargeId, amount }) => facts(id, chargeId, amount)).sort(),
    books.charges.map(({ paymentId, chargeId, amount }) => facts(paymentId, chargeId, amount)).sort(),
    'the payments that succeeded are those that were charged',
  );
  assert.deepEqual(
    succeeded.map(({ metadata, chargeId }) => `${metadata?.order} ${chargeId}`).sort(),
    [...items].map(([id, name]) => `${id} ${name}`).sort(),
    'an item exists if and only if its charge succeeded',
  );
  const given = payments.flatMap(({ id, refunds = [] }) =>
    refunds
      .filter(({ state }) => state !== 'failed')
      .map((refund) => [id, refund.id, refund.amount].join(' ')),
  );
  const paymentOf = new Map(books.charges.map(({ chargeId, paymentId }) => [chargeId, paymentId]));
  assert.deepEqual(
    given.sort(),
    books.refunds
      .map(({ refundId, chargeId, amount }) => [paymentOf.get(chargeId), refundId, amount].join(' '))
      .sort(),
    'the recorded refunds are those that were made',
  );
  for (const order of shop.orders) assertResponses(order, books);
}

async function stored(data: string): Promise<{ payments: Payment[]; items: Map<string, string> }> {
  const engine = await openStoreOf(data);
  const payments: Payment[] = [];
  for await (const payment of paymentsAfter({ engine }, undefined)) payments.push(payment);
  const items = new Map<string, string>();
  for await (const { id, name } of itemsOf((await engine.scan('table:paid'))?.chunks ?? []))
    items.set(id, name);
  await engine.close();
  return { payments, items };
}

function assertNothingTwice(values: readonly unknown[]): void {
  assert.equal(new Set(values).size, values.length);
}

/** Asserts that there is one final response, identical each time, and that it is true. */
function assertResponses({ key, amount, responses, refunds }: Order, books: LedgerRecords): void {
  const charge = books.charges.find((made) => made.amount === amount);
  const text = finalText(key, responses, charge === undefined ? 402 : 200);
  if (charge !== undefined) assert.ok(text.includes(`"charge_id":"${charge.chargeId}"`), text);
  for (const [refundKey, refund] of refunds) {
    const made = books.refunds.some(
      ({ chargeId, refundId }) =>
        chargeId === charge?.chargeId &&
        [...(refund.responses.get(200) ?? [])].some((each) => each.includes(`"refund_id":"${refundId}"`)),
    );
    finalText(`${refundKey} of ${key}`, refund.responses, made ? 200 : 400);
  }
}

function finalText(what: string, responses: ReadonlyMap<number, ReadonlySet<string>>, final: number): string {
  const statuses = [...responses.keys()];
  // Refunds beyond the amount are rejected, and each rejection has the id of its own request.
  const allowed = [final, 504, 409, 503];
  assert.ok(
    statuses.every((status) => allowed.includes(status)),
    `${what} got ${statuses.join(', ')}`,
  );
  // A busy machine sheds load: nothing was done for the request.
  for (const text of responses.get(503) ?? []) assert.match(text, /"code":"overloaded"/, what);
  const texts = [...(responses.get(final) ?? [])];
  if (final !== 400) assert.equal(texts.length, 1, `${what} has ${texts.length} different responses`);
  return String(texts[0]);
}

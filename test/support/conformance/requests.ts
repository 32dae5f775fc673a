import assert from 'node:assert/strict';
import type { LedgerCharge } from '../../../src/processors/simulated/ledger.ts';
import { Caller } from '../caller.ts';

interface Order {
  readonly key: string;
  /** Unlike any other order's, so that its charges are told by it. */
  readonly amount: number;
  /** Its final response, word for word, once it has one. */
  response?: string;
}

const path = '/stage/payment/simulated/charge';
const finalStatus = 200;
const repeatersAtOnce = 16;

/** Payments that are ordered while a service may fail, and what has been heard of them. */
export class Orders {
  readonly #orders: Order[] = [];

  get answered(): number {
    return this.#orders.filter(({ response }) => response !== undefined).length;
  }

  get unanswered(): number {
    return this.#orders.length - this.answered;
  }

  /** One order after the other, until it is over. */
  async keepOrdering(origin: string, isOver: () => boolean): Promise<void> {
    const caller = new Caller(origin);
    while (!isOver()) await this.orderOnce(caller);
    caller.close();
  }

  /** @returns the status of the response, or undefined where there was none */
  async orderOnce(caller: Caller): Promise<number | undefined> {
    const number = this.#orders.length + 1;
    const order: Order = { key: `order-${number}`, amount: 1_000 + number };
    this.#orders.push(order);
    return this.#send(caller, order);
  }

  /** Sends every order once more: who has had a response gets the same one, and nothing is charged twice. */
  async repeatAll(origin: string, charges: () => Promise<readonly LedgerCharge[]>): Promise<void> {
    const left = [...this.#orders];
    const repeat = async () => {
      const caller = new Caller(origin);
      for (let order = left.pop(); order !== undefined; order = left.pop()) {
        const status = await this.#send(caller, order);
        if (order.response !== undefined) assert.equal(status, finalStatus, `${order.key} has been paid`);
      }
      caller.close();
    };
    await Promise.all(Array.from({ length: repeatersAtOnce }, repeat));
    const amounts = (await charges()).map(({ amount }) => amount);
    const twice = amounts.filter((amount, index) => amounts.indexOf(amount) !== index);
    assert.deepEqual(twice, [], 'amounts that were charged twice');
    const missing = this.#orders.filter(({ response, amount }) => response && !amounts.includes(amount));
    assert.deepEqual(missing, [], 'answered as paid, and never charged');
  }

  async #send(caller: Caller, order: Order): Promise<number | undefined> {
    const { key, amount } = order;
    const body = { amount, currency: 'EUR', token: 'tok_paid' };
    const heard = await caller.send('POST', path, body, { 'idempotency-key': key });
    if (heard.kind !== 'responded') return undefined;
    if (heard.status === finalStatus) {
      order.response ??= heard.text;
      assert.equal(heard.text, order.response, `${key} has two answers`);
    }
    return heard.status;
  }
}

import assert from 'node:assert/strict';
import type { LedgerCharge } from '../../../src/processors/simulated/ledger.ts';
import { Caller } from '../caller.ts';

interface SentCharge {
  readonly key: string;
  /** Unique, so that the charges of this request can be found by it. */
  readonly amount: number;
  /** The text of its first successful response. */
  response?: string;
}

const path = '/stage/payment/simulated/charge';
const successStatus = 200;
const repeatersAtOnce = 16;

/** Charges that are requested while a service may fail, and their responses. */
export class ChargeRequests {
  readonly #sent: SentCharge[] = [];

  get succeeded(): number {
    return this.#sent.filter(({ response }) => response !== undefined).length;
  }

  get unknown(): number {
    return this.#sent.length - this.succeeded;
  }

  /** Sends one charge after the other, until `isOver`. */
  async keepSending(origin: string, isOver: () => boolean): Promise<void> {
    const caller = new Caller(origin);
    while (!isOver()) await this.sendOne(caller);
    caller.close();
  }

  /** Sends a new charge. @returns the status of the response, or undefined if there was none */
  async sendOne(caller: Caller): Promise<number | undefined> {
    const number = this.#sent.length + 1;
    const charge: SentCharge = { key: `order-${number}`, amount: 1_000 + number };
    this.#sent.push(charge);
    return this.#send(caller, charge);
  }

  /** Sends every charge once more: a successful one must have the same response again, and none may be made twice. */
  async repeatAll(origin: string, charges: () => Promise<readonly LedgerCharge[]>): Promise<void> {
    const left = [...this.#sent];
    const repeat = async () => {
      const caller = new Caller(origin);
      for (let charge = left.pop(); charge !== undefined; charge = left.pop()) {
        const status = await this.#send(caller, charge);
        if (charge.response !== undefined) assert.equal(status, successStatus, `${charge.key} had succeeded`);
      }
      caller.close();
    };
    await Promise.all(Array.from({ length: repeatersAtOnce }, repeat));
    const amounts = (await charges()).map(({ amount }) => amount);
    const twice = amounts.filter((amount, index) => amounts.indexOf(amount) !== index);
    assert.deepEqual(twice, [], 'amounts that were charged twice');
    const missing = this.#sent.filter(({ response, amount }) => response && !amounts.includes(amount));
    assert.deepEqual(missing, [], 'successful responses without a charge');
  }

  async #send(caller: Caller, charge: SentCharge): Promise<number | undefined> {
    const { key, amount } = charge;
    const body = { amount, currency: 'EUR', token: 'tok_paid' };
    const outcome = await caller.send('POST', path, body, { 'idempotency-key': key });
    if (outcome.kind !== 'responded') return undefined;
    if (outcome.status === successStatus) {
      charge.response ??= outcome.text;
      assert.equal(outcome.text, charge.response, `${key} has two different responses`);
    }
    return outcome.status;
  }
}

import type { TestContext } from 'node:test';
import { startTestService, type TestService, type TestServiceOptions } from '../service.ts';
import { writeSettings } from './settings-file.ts';

/** What the route does to its item when the money is returned. */
export interface SeatRules {
  readonly on_refund?: 'keep' | 'delete';
  readonly on_dispute?: 'keep' | 'delete';
  /** Where the name of the item comes from; the payment id by default. */
  readonly name?: string;
}

/** The settings of a route that sells a seat: the item has the seat as its id. */
export function seatSettings(rules: SeatRules) {
  const on_success = { table: 'seats', id: 'metadata.seat', name: 'payment_id', ...rules };
  return { payments: { routes: { charge: { on_success } } } };
}

/** The buyers and the administrator of the seats of a service. */
export class Seats {
  readonly service: TestService;
  readonly #path: string;

  constructor(service: TestService, processor = 'simulated') {
    this.service = service;
    this.#path = `/stage/payment/${processor}/charge`;
  }

  static async start(t: TestContext, rules: SeatRules, options: TestServiceOptions = {}): Promise<Seats> {
    return new Seats(await startTestService(t, { file: writeSettings(t, seatSettings(rules)), ...options }));
  }

  buy(seat: string, token = 'tok_paid') {
    return this.service.post(this.#path, { amount: 2_000, currency: 'EUR', token, metadata: { seat } });
  }

  /** Buys a seat, which must succeed. @returns the location of the payment */
  async bought(seat: string, token = 'tok_paid'): Promise<string> {
    const { status, text, headers } = await this.buy(seat, token);
    if (status !== 200) throw new Error(`the seat is not sold: ${text}`);
    return headers.get('location') ?? '';
  }

  refund(at: string, amount?: number) {
    return this.service.post(`${at}/refund`, amount === undefined ? {} : { amount });
  }

  async payment(at: string) {
    return (await this.service.get(at)).json.body;
  }

  /** The status of the payment's item. */
  async statusOf(at: string): Promise<string> {
    return (await this.payment(at)).item.status;
  }

  /** The name of a seat's item; undefined if there is none. */
  async nameOf(seat: string): Promise<string | undefined> {
    return (await this.service.get(`/v3/table/seats/read?id=${seat}`)).json.body.name;
  }
}

/** The id of the payment at a location. */
export function idOf(location: string): string {
  return location.split('/').at(-1) ?? '';
}

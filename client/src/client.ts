import { Audit } from './audit.ts';
import { type CounterfoilOptions, Http } from './http.ts';
import {
  Payments,
  type PayRequest,
  type PayResult,
  pay,
  type RefundRequest,
  type RefundResult,
  refund,
} from './payments.ts';
import { SignIn, type TokenStorage } from './sign-in.ts';
import { type ListTables, listTables, Table, type TableFacts } from './tables.ts';

export interface ClientOptions extends CounterfoilOptions {
  /** Where `signIn` stores its tokens; in memory by default. */
  readonly storage?: TokenStorage;
}

export class Counterfoil {
  readonly payments: Payments;
  readonly signIn: SignIn;
  readonly audit: Audit;
  readonly #http: Http;

  constructor(options: ClientOptions) {
    this.#http = new Http(options);
    this.payments = new Payments(this.#http);
    this.signIn = new SignIn(this.#http, options.storage);
    this.audit = new Audit(this.#http);
  }

  table(name: string): Table {
    return new Table(this.#http, name);
  }

  /** Pages of the tables that the key may read, in the order of their names. */
  tables(options: ListTables = {}): AsyncGenerator<readonly TableFacts[]> {
    return listTables(this.#http, options);
  }

  /**
   * Charges a card once, and repeats the request with its idempotency key until the outcome is known. Throws only if
   * this call has charged nothing. Otherwise, if the outcome did not arrive, the result is `unknown`.
   */
  pay(request: PayRequest): Promise<PayResult> {
    return pay(this.#http, request);
  }

  /** Refunds a payment or a part of it, with the same guarantees as `pay`. */
  refund(request: RefundRequest): Promise<RefundResult> {
    return refund(this.#http, request);
  }
}

import type { Http } from './http.ts';
import { sendAgain } from './retry.ts';
import type { CallOptions } from './tables.ts';

/** An act of a person, a program or the service. */
export interface Act {
  readonly id: string;
  readonly at: string;
  /** `key.created`, `payment.refunded` …; a later version of the service may have further ones. */
  readonly what: string;
  /** The id or name of the object. */
  readonly on: string;
  /**
   * `key:ID` for an API key; `administrator:ID` for a named administrator, with the user id; or `cli`, `service`,
   * `user`, `provider` or `open`.
   */
  readonly by: string;
  /** The administrator `administrator:ID`, as at the time of the act. */
  readonly administrator?: { readonly issuer: string; readonly subject: string; readonly name?: string };
  /** Only for `payment.refunded`: the refund. The amount is in the smallest unit of the currency. */
  readonly refund?: { readonly id: string; readonly amount: number; readonly currency: string };
  readonly request_id: string | null;
}

export interface ListAudit extends CallOptions {
  /** The maximum number of acts on the page, 1 to 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

export interface AuditPage {
  /** Newest first. */
  readonly acts: readonly Act[];
  /** The `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** The audit trail. Needs a key with the scope `admin`. */
export class Audit {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  async list({ signal, limit, after }: ListAudit = {}): Promise<AuditPage> {
    const call = { method: 'GET', path: '/v3/audit', query: { limit, after }, signal };
    const { body, next } = await sendAgain<Act[]>(this.#http, call);
    return { acts: body, next };
  }
}

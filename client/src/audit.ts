import type { Http } from './http.ts';
import { sendAgain } from './retry.ts';
import type { CallOptions } from './tables.ts';

/** What somebody has done. */
export interface Act {
  readonly id: string;
  readonly at: string;
  /** `key.created`, `payment.refunded` …; a later version of the service may have further ones. */
  readonly what: string;
  /** The id or name of the object. */
  readonly on: string;
  /**
   * `key:ID` for an API key, `administrator:ID` for a named administrator by the id of the user; or `cli`, `service`, `user`,
   * `provider` or `open`.
   */
  readonly by: string;
  /** Who `administrator:ID` was at the time of the act. */
  readonly administrator?: { readonly issuer: string; readonly subject: string; readonly name?: string };
  /** Of `payment.refunded`; the amount is in the smallest unit of the currency. */
  readonly refund?: { readonly id: string; readonly amount: number; readonly currency: string };
  readonly request_id: string | null;
}

export interface ListAudit extends CallOptions {
  /** The largest number of acts of the page, 1 to 100. */
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly after?: string;
}

export interface AuditPage {
  /** Newest first. */
  readonly acts: readonly Act[];
  /** `after` of the next page; undefined on the last one. */
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

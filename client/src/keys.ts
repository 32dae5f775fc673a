import { type Http, path } from './http.ts';
import { sendAgain } from './retry.ts';
import type { CallOptions } from './tables.ts';

export type ApiKeyKind = 'secret' | 'publishable';
export type Scope =
  | 'payments:create'
  | 'payments:read'
  | 'payments:refund'
  | 'tables:read'
  | 'tables:write'
  | 'integrations:read'
  | 'integrations:write'
  | 'users:read'
  | 'users:write'
  | 'keys:read'
  | 'keys:write'
  | 'metrics:read'
  | 'admin';

interface KeyFields {
  readonly id: string;
  readonly kind: ApiKeyKind;
  readonly name: string;
  readonly status: 'valid' | 'expired' | 'revoked';
  readonly scopes: readonly Scope[];
  /** The tables, and the routes as `processor/route`, that the key may use; null means all. */
  readonly tables: readonly string[] | null;
  readonly routes: readonly string[] | null;
  /** Only for a publishable key: the origins of the pages that may use it. */
  readonly origins: readonly string[] | null;
  /** `key:ID`, `administrator:ID` or `cli`; null if it was made before this was recorded. */
  readonly created_by: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /** The time until which the secret before the last rotation is valid. */
  readonly previous_until: string | null;
}

export interface ApiKey extends KeyFields {
  /** Accurate to some minutes. */
  readonly last_used_at: string | null;
}

export interface ShownApiKey extends KeyFields {
  /** The whole key, with its secret. The service does not show it again. */
  readonly key: string;
}

export interface ListKeys extends CallOptions {
  /** The maximum number of keys on the page, 1 to 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
  /**
   * Selects the keys that this key or administrator has created, also through other keys: a `created_by`, or the id in
   * it.
   */
  readonly createdBy?: string;
}

export interface ApiKeyPage {
  /** In the order of their creation, including ended keys. */
  readonly keys: readonly ApiKey[];
  /** The `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

export interface CreateKey extends CallOptions {
  readonly name: string;
  /** `secret` by default. */
  readonly kind?: ApiKeyKind;
  /** Required for a secret key. */
  readonly scopes?: readonly Scope[];
  readonly tables?: readonly string[];
  /** Each `processor/route`. */
  readonly routes?: readonly string[];
  /** Required for a publishable key. */
  readonly origins?: readonly string[];
  readonly expiresAt?: Date | string;
  /**
   * The id of the key whose idempotency keys the new key takes over; by default the latest key of the same kind and
   * name.
   */
  readonly replaces?: string;
}

export interface RotateKey extends CallOptions {
  /** How long the present secret stays valid: a day by default; 0 ends it at once. */
  readonly overlapSeconds?: number;
  /**
   * Whether to end the previous secret of an earlier rotation. If it is false and that secret is still valid, the call
   * throws `rotation_unfinished`.
   */
  readonly endsPrevious?: boolean;
}

/**
 * API keys. Needs a key with the scope `keys:read` or `keys:write`. A key can make only keys that may do no more than
 * itself.
 */
export class Keys {
  readonly #http: Http;

  /** @internal */
  constructor(http: Http) {
    this.#http = http;
  }

  async list({ signal, limit, after, createdBy }: ListKeys = {}): Promise<ApiKeyPage> {
    const call = { method: 'GET', path: '/v3/keys', query: { limit, after, created_by: createdBy }, signal };
    const { body, next } = await sendAgain<ApiKey[]>(this.#http, call);
    return { keys: body, next };
  }

  /** If the response is lost, the same call throws `key_exists`. Then rotate the key. */
  async create({ signal, expiresAt, ...fields }: CreateKey): Promise<ShownApiKey> {
    const expires_at = expiresAt instanceof Date ? expiresAt.toISOString() : expiresAt;
    const call = { method: 'POST', path: '/v3/keys', body: { ...fields, expires_at }, signal };
    return (await sendAgain<ShownApiKey>(this.#http, call)).body;
  }

  /** Gives a key a new secret. */
  async rotate(id: string, { signal, overlapSeconds, endsPrevious }: RotateKey = {}): Promise<ShownApiKey> {
    const body = { overlap_seconds: overlapSeconds, ends_previous: endsPrevious };
    const call = { method: 'POST', path: path('/v3/keys', id, 'rotate'), body, signal };
    return (await sendAgain<ShownApiKey>(this.#http, call)).body;
  }

  /** Ends a key. Throws `last_admin_key` if no other valid key has the scope `admin`. */
  async revoke(id: string, { signal }: CallOptions = {}): Promise<ApiKey> {
    const call = { method: 'DELETE', path: path('/v3/keys', id), signal };
    return (await sendAgain<ApiKey>(this.#http, call, true)).body;
  }
}

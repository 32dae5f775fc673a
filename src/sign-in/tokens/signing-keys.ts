import { randomUUID } from 'node:crypto';
import type { CryptoKey, JWK } from 'jose';
import { defined } from '../../defined.ts';
import type { EncryptionContext, SealedRecords, Sealer } from '../../secrets/sealer.ts';
import type { Engine } from '../../storage/engine.ts';
import { Records, type Stored } from '../../storage/records.ts';
import {
  accessTokenMs,
  signingKeyAnnouncedMs,
  signingKeyMs,
  signingKeyPublishedMs,
  signingKeysCachedMs,
} from '../limits.ts';
import { type Identity, userKey } from '../types.ts';

/** The record of a key in `service:signing-keys`, under its number. */
interface StoredKey {
  /** Its thumbprint (RFC 7638). */
  readonly kid: string;
  readonly publicKey: JWK;
  readonly sealedPrivateKey: string;
  /** When the key begins to sign, in milliseconds since 1970. The previous key signs until then. */
  readonly signsFrom: number;
}

/** The signature algorithm of access tokens: ECDSA on P-256, which every JWT library verifies (RFC 7518, 3.4). */
const signingAlgorithm = 'ES256';
/** Padding, so that numbers sort as text. */
const numberDigits = 10;

/** The private keys in `service:signing-keys`. */
export const sealedSigningKeys: SealedRecords = {
  space: 'service:signing-keys',
  exchange(_id, text, exchange) {
    const key = JSON.parse(text) as StoredKey;
    return JSON.stringify({ ...key, sealedPrivateKey: exchange(key.sealedPrivateKey, keyContext(key.kid)) });
  },
};

export interface Signer {
  readonly kid: string;
  readonly key: CryptoKey;
}

export interface SigningKeysParts {
  readonly engine: Engine;
  readonly sealer: Sealer;
  readonly now: () => number;
}

/**
 * The keys that sign access tokens, one after the other. The first is created on first use. A later key is published a
 * day before it signs, and an old key until its last token has expired. So an app that caches the published set can
 * verify every token. If several processes create a key, one succeeds, because each key number is created once.
 */
export class SigningKeys {
  readonly #context: SigningKeysParts;
  readonly #records: Records<StoredKey>;
  readonly #privateKeys = new Map<string, CryptoKey>();
  #known: { readonly keys: readonly StoredKey[]; readonly at: number } | undefined;

  constructor(context: SigningKeysParts) {
    this.#context = context;
    this.#records = new Records(context.engine, 'signing-keys');
  }

  /** The current key. */
  async signer(): Promise<Signer> {
    const keys = await this.#keys();
    const now = this.#context.now();
    // If every key begins in the future, the clock was set back.
    const active = keys.findLast(({ signsFrom }) => signsFrom <= now) ?? (keys[0] as StoredKey);
    return { kid: active.kid, key: await this.#privateKey(active) };
  }

  /** The public keys for a JWK Set (RFC 7517, 5). */
  async published(): Promise<readonly JWK[]> {
    const keys = await this.#keys();
    const now = this.#context.now();
    const isPublished = (_key: StoredKey, index: number) => !isPast(keys, index, now);
    return keys
      .filter(isPublished)
      .map(({ kid, publicKey }) => ({ ...publicKey, kid, alg: signingAlgorithm, use: 'sig' }));
  }

  /** Removes keys whose last token has expired. */
  async sweep(): Promise<void> {
    const { engine, now } = this.#context;
    const stored = await this.#stored();
    const keys = stored.map(({ value }) => value);
    for (const [index, each] of stored.entries()) {
      if (isPast(keys, index, now())) await engine.commit([this.#records.deletion(each)]);
    }
  }

  async #keys(): Promise<readonly StoredKey[]> {
    const now = this.#context.now();
    const known = this.#known;
    if (known !== undefined && Math.abs(now - known.at) < signingKeysCachedMs) return known.keys;
    for (;;) {
      const stored = await this.#stored();
      const last = stored.at(-1);
      const signsFrom = nextSignsFrom(last?.value, now);
      if (signsFrom === undefined) {
        const keys = stored.map(({ value }) => value);
        this.#known = { keys, at: now };
        return keys;
      }
      await this.#create(Number(last?.id ?? 0) + 1, signsFrom);
    }
  }

  async #stored(): Promise<readonly Stored<StoredKey>[]> {
    const stored: Stored<StoredKey>[] = [];
    for await (const each of this.#records.list()) stored.push(each);
    return stored;
  }

  /**
   * If another process has already created the number, the engine rejects the commit, and the caller reads the keys
   * again.
   */
  async #create(number: number, signsFrom: number): Promise<void> {
    const { engine, sealer } = this.#context;
    const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await import('jose');
    const pair = await generateKeyPair(signingAlgorithm, { extractable: true });
    const publicKey = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(publicKey);
    const privateKey = JSON.stringify(await exportJWK(pair.privateKey));
    const key: StoredKey = {
      kid,
      publicKey,
      sealedPrivateKey: sealer.seal(privateKey, keyContext(kid)),
      signsFrom,
    };
    const id = String(number).padStart(numberDigits, '0');
    await engine.commit([this.#records.creation(id, key)]);
  }

  async #privateKey({ kid, sealedPrivateKey }: StoredKey): Promise<CryptoKey> {
    const known = this.#privateKeys.get(kid);
    if (known !== undefined) return known;
    const { importJWK } = await import('jose');
    const jwk = JSON.parse(this.#context.sealer.open(sealedPrivateKey, keyContext(kid))) as JWK;
    const key = (await importJWK(jwk, signingAlgorithm)) as CryptoKey;
    this.#privateKeys.clear();
    this.#privateKeys.set(kid, key);
    return key;
  }
}

/** When the next key begins to sign; undefined while no further key is needed. The first key signs at once. */
function nextSignsFrom(last: StoredKey | undefined, now: number): number | undefined {
  if (last === undefined) return now;
  const from = last.signsFrom + signingKeyMs;
  return now < from - signingKeyAnnouncedMs ? undefined : Math.max(from, now + signingKeyAnnouncedMs);
}

/** Whether the last token of a key has expired. */
function isPast(keys: readonly StoredKey[], index: number, now: number): boolean {
  const next = keys[index + 1];
  return next !== undefined && now >= next.signsFrom + signingKeyPublishedMs;
}

function keyContext(kid: string): EncryptionContext {
  return { record: 'signing-key', name: kid, field: 'private_key' };
}

export interface AccessTokenRequest {
  readonly identity: Identity;
  /** The origin of the return URL. */
  readonly audience: string;
  /** The public origin and base path of this service. */
  readonly issuer: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * A JWT that any app can verify with the published keys (RFC 9068). `sub` is the user's key at this service. The same
 * person at another provider is another user. `client_id` is `<provider>/<integration>`.
 */
export async function signAccessToken({ kid, key }: Signer, request: AccessTokenRequest): Promise<string> {
  const { identity, audience, issuer, now } = request;
  const { SignJWT } = await import('jose');
  const issuedAt = Math.floor(now / 1_000);
  const { provider, integration, name, email, emailVerified, picture } = identity;
  return new SignJWT({
    client_id: `${provider}/${integration}`,
    provider,
    integration,
    ...defined({ name, email, email_verified: emailVerified, picture }),
  })
    .setProtectedHeader({ alg: signingAlgorithm, typ: 'at+jwt', kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(userKey(identity))
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + accessTokenMs / 1_000)
    .setJti(randomUUID())
    .sign(key);
}

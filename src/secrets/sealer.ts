import { createSecretKey, type KeyObject } from 'node:crypto';
import { randomBytes } from '../random.ts';
import type { Space } from '../storage/engine.ts';
import { type MasterKey, type MasterKeys, masterKeyBytes } from './key-file.ts';
import { sharedDataKeyMsMax, sharedDataKeySealsMax } from './limits.ts';
import {
  boundToOwnKey,
  boundToSecret,
  boundToSharedKey,
  decrypt,
  type EncryptionContext,
  type EphemeralContext,
  encrypt,
  formatSeal,
  ownKeyVersion,
  parseSeal,
  type SealParts,
  type SealVersion,
  sealError,
  sharedKeyVersion,
} from './seal-format.ts';

export type { EncryptionContext, EphemeralContext } from './seal-format.ts';
export { decrypt, encrypt } from './seal-format.ts';

/** Returns the replacement for a seal. */
type SealExchange = (seal: string, context: EncryptionContext) => string;

/** Records that hold secrets. Each domain with secrets declares where its seals are. */
export interface SealedRecords {
  readonly space: Space;
  /**
   * The text of a record with each of its seals replaced. Nothing else changes, because the domain compares records with
   * their written text, byte for byte.
   */
  exchange(id: string, text: string, exchange: SealExchange): string;
}

/**
 * Envelope encryption: a random data key encrypts a secret, and a master key encrypts the data key (AES-256-GCM for both,
 * NIST SP 800-38D). Rotating the master key rewraps data keys and never touches a secret.
 *
 * A seal is `<version>.<key id>.<sealed data key>.<sealed secret>`. The sealed parts are base64url of a 12-byte nonce,
 * the ciphertext and a 16-byte tag. The sealed secret is bound to the version and to its place. The sealed data key is
 * bound to the version, to the master key's id and, unless secrets share it, to the place.
 */
export class Sealer {
  readonly #keys: MasterKeys;
  readonly #sharedKeys: SharedDataKeys;

  /** @param monotonicMs milliseconds of a monotonic clock */
  constructor(keys: MasterKeys, monotonicMs: () => number = () => performance.now()) {
    this.#keys = keys;
    this.#sharedKeys = new SharedDataKeys(monotonicMs);
  }

  /** The key that seals now. */
  get keyId(): string {
    return this.#keys.writing().id;
  }

  /** Seals a secret under a data key of its own. */
  seal(secret: string, context: EncryptionContext): string {
    const dataKey = randomBytes(masterKeyBytes);
    const sealedSecret = encrypt(dataKey, Buffer.from(secret), boundToSecret(ownKeyVersion, context));
    return this.#wrapped(dataKey, { version: ownKeyVersion, sealedSecret }, context);
  }

  /**
   * Seals a secret that lives seconds, with one encryption instead of two: its data key is shared with what this process
   * seals in the same minute. A data key that leaks opens all of these secrets, as long as their records are open.
   */
  sealWithSharedKey(secret: string, context: EphemeralContext): string {
    const { keyId, key, sealedKey } = this.#sharedKeys.take(this.#keys.writing());
    const sealedSecret = encrypt(key, Buffer.from(secret), boundToSecret(sharedKeyVersion, context));
    return formatSeal({ version: sharedKeyVersion, keyId, sealedKey, sealedSecret });
  }

  /**
   * Throws `internal` when the seal was made for another place, was changed, or needs a master key that is not loaded;
   * the detail says which.
   */
  open(seal: string, context: EncryptionContext): string {
    const parts = parseSeal(seal);
    const dataKey = this.#dataKey(parts, context);
    try {
      return decrypt(dataKey, parts.sealedSecret, boundToSecret(parts.version, context)).toString();
    } finally {
      dataKey.fill(0);
    }
  }

  /**
   * The same secret under the current key; the same seal when it is already under it. Throws the errors of `open`, but
   * checks only the part of the seal that it changes.
   */
  rewrap(seal: string, context: EncryptionContext): string {
    const parts = parseSeal(seal);
    if (parts.keyId === this.keyId) return seal;
    return this.#wrapped(this.#dataKey(parts, context), parts, context);
  }

  /** Erases the data key. */
  #wrapped(
    dataKey: Buffer,
    { version, sealedSecret }: Pick<SealParts, 'version' | 'sealedSecret'>,
    context: EncryptionContext,
  ): string {
    const { id, key } = this.#keys.writing();
    const sealedKey = encrypt(key, dataKey, boundToDataKey(version, id, context));
    dataKey.fill(0);
    return formatSeal({ version, keyId: id, sealedKey, sealedSecret });
  }

  #dataKey({ version, keyId, sealedKey }: SealParts, context: EncryptionContext): Buffer {
    if (version === sharedKeyVersion && context.isEphemeral !== true) {
      throw sealError('it shares a data key, in a place for secrets with a data key of their own');
    }
    return decrypt(this.#find(keyId).key, sealedKey, boundToDataKey(version, keyId, context));
  }

  #find(keyId: string): MasterKey {
    const key = this.#keys.find(keyId);
    if (key === undefined) throw sealError(`sealed by master key ${keyId}, which is not loaded`);
    return key;
  }
}

function boundToDataKey(version: SealVersion, keyId: string, context: EncryptionContext): Buffer {
  return version === sharedKeyVersion ? boundToSharedKey(keyId) : boundToOwnKey(keyId, context);
}

/** A data key for several seals, sealed by a master key once. */
interface SharedDataKey {
  /** The id of the master key. */
  readonly keyId: string;
  readonly key: KeyObject;
  readonly sealedKey: string;
}

/**
 * The data key of this process for secrets that live seconds. It is replaced after a minute, after a number of seals, and
 * as soon as another master key seals. It is never stored in clear, and no two processes or restarts share one.
 */
class SharedDataKeys {
  readonly #monotonicMs: () => number;
  #current: SharedDataKey | undefined;
  #madeAtMs = 0;
  #seals = 0;

  /** @param monotonicMs milliseconds of a monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** The data key for one more seal. @param master the key that seals now */
  take(master: MasterKey): SharedDataKey {
    const nowMs = this.#monotonicMs();
    let current = this.#current;
    if (
      current === undefined ||
      current.keyId !== master.id ||
      this.#seals >= sharedDataKeySealsMax ||
      nowMs - this.#madeAtMs >= sharedDataKeyMsMax
    ) {
      current = newSharedDataKey(master);
      this.#current = current;
      this.#madeAtMs = nowMs;
      this.#seals = 0;
    }
    this.#seals++;
    return current;
  }
}

/** The bytes are erased here; Node.js erases the copy in the KeyObject when it frees it. */
function newSharedDataKey({ id, key: masterKey }: MasterKey): SharedDataKey {
  const bytes = randomBytes(masterKeyBytes);
  const key = createSecretKey(bytes);
  const sealedKey = encrypt(masterKey, bytes, boundToSharedKey(id));
  bytes.fill(0);
  return { keyId: id, key, sealedKey };
}

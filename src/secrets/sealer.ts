import { randomBytes } from '../random.ts';
import { decrypt, encrypt } from './aes-gcm.ts';
import { type MasterKey, type MasterKeys, masterKeyBytes } from './master-keys.ts';
import {
  boundToOwnKey,
  boundToSecret,
  boundToSharedKey,
  ownKeyVersion,
  partsOf,
  type SealParts,
  type SealVersion,
  sealError,
  sealOf,
  sharedKeyVersion,
} from './seal-format.ts';
import type { BriefPlace, SecretPlace } from './secret-place.ts';
import { SharedDataKeys } from './shared-data-key.ts';

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

  /** @param monotonicMs milliseconds of a clock that nobody sets */
  constructor(keys: MasterKeys, monotonicMs: () => number = () => performance.now()) {
    this.#keys = keys;
    this.#sharedKeys = new SharedDataKeys(monotonicMs);
  }

  /** The key that seals now. */
  get keyId(): string {
    return this.#keys.writing().id;
  }

  /** Seals a secret under a data key of its own. */
  seal(secret: string, place: SecretPlace): string {
    const dataKey = randomBytes(masterKeyBytes);
    const sealedSecret = encrypt(dataKey, Buffer.from(secret), boundToSecret(ownKeyVersion, place));
    return this.#wrapped(dataKey, { version: ownKeyVersion, sealedSecret }, place);
  }

  /**
   * Seals a secret that lives seconds, with one encryption instead of two: its data key is shared with what this process
   * seals in the same minute. A data key that leaks opens all of these secrets, as long as their records are open.
   */
  sealBriefly(secret: string, place: BriefPlace): string {
    const { keyId, key, sealedKey } = this.#sharedKeys.take(this.#keys.writing());
    const sealedSecret = encrypt(key, Buffer.from(secret), boundToSecret(sharedKeyVersion, place));
    return sealOf({ version: sharedKeyVersion, keyId, sealedKey, sealedSecret });
  }

  /**
   * Throws `internal` when the seal was made for another place, was changed, or needs a master key that is not loaded;
   * the detail says which.
   */
  open(seal: string, place: SecretPlace): string {
    const parts = partsOf(seal);
    const dataKey = this.#dataKey(parts, place);
    try {
      return decrypt(dataKey, parts.sealedSecret, boundToSecret(parts.version, place)).toString();
    } finally {
      dataKey.fill(0);
    }
  }

  /**
   * The same secret under the current key; the same seal when it is already under it. Throws the errors of `open`, but
   * checks only the part of the seal that it changes.
   */
  rewrap(seal: string, place: SecretPlace): string {
    const parts = partsOf(seal);
    if (parts.keyId === this.keyId) return seal;
    return this.#wrapped(this.#dataKey(parts, place), parts, place);
  }

  /** Erases the data key. */
  #wrapped(
    dataKey: Buffer,
    { version, sealedSecret }: Pick<SealParts, 'version' | 'sealedSecret'>,
    place: SecretPlace,
  ): string {
    const { id, key } = this.#keys.writing();
    const sealedKey = encrypt(key, dataKey, boundToDataKey(version, id, place));
    dataKey.fill(0);
    return sealOf({ version, keyId: id, sealedKey, sealedSecret });
  }

  #dataKey({ version, keyId, sealedKey }: SealParts, place: SecretPlace): Buffer {
    if (version === sharedKeyVersion && place.isBrief !== true) {
      throw sealError('it shares a data key, in a place for secrets with a data key of their own');
    }
    return decrypt(this.#find(keyId).key, sealedKey, boundToDataKey(version, keyId, place));
  }

  #find(keyId: string): MasterKey {
    const key = this.#keys.find(keyId);
    if (key === undefined) throw sealError(`sealed by master key ${keyId}, which is not loaded`);
    return key;
  }
}

function boundToDataKey(version: SealVersion, keyId: string, place: SecretPlace): Buffer {
  return version === sharedKeyVersion ? boundToSharedKey(keyId) : boundToOwnKey(keyId, place);
}

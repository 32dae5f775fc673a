import { createCipheriv, createDecipheriv } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { randomBytes } from '../random.ts';
import { type MasterKey, type MasterKeys, masterKeyBytes } from './master-keys.ts';

/** Where a secret belongs. The seal is bound to its place: a seal moved to another place does not open. */
export interface SecretPlace {
  /** The kind of record, for instance `integration` or `payment`. */
  readonly record: string;
  /** The record's own name, for instance `google/web`. */
  readonly name: string;
  readonly field: string;
}

/**
 * Envelope encryption: every secret has its own random data key, and a master key encrypts the data key (AES-256-GCM for
 * both, NIST SP 800-38D). Rotating the master key rewraps data keys and never touches a secret.
 *
 * A seal is `v2.<key id>.<sealed data key>.<sealed secret>`. The sealed parts are base64url of a 12-byte nonce, the
 * ciphertext and a 16-byte tag. Both parts are bound to the place, only the first one to the key id.
 */
export class Sealer {
  readonly #keys: MasterKeys;

  constructor(keys: MasterKeys) {
    this.#keys = keys;
  }

  /** The key that seals now. */
  get keyId(): string {
    return this.#keys.writing().id;
  }

  seal(secret: string, place: SecretPlace): string {
    const dataKey = randomBytes(masterKeyBytes);
    const sealedSecret = encrypt(dataKey, Buffer.from(secret), boundToSecret(place));
    return this.#wrapped(dataKey, sealedSecret, place);
  }

  /**
   * Throws `internal` when the seal was made for another place, was changed, or needs a master key that is not loaded;
   * the detail says which.
   */
  open(seal: string, place: SecretPlace): string {
    const parts = partsOf(seal);
    const dataKey = this.#dataKey(parts, place);
    return decrypt(dataKey, parts.sealedSecret, boundToSecret(place)).toString();
  }

  /**
   * The same secret under the current key; the same seal when it is already under it. Throws the errors of `open`, but
   * checks only the part of the seal that it changes.
   */
  rewrap(seal: string, place: SecretPlace): string {
    const parts = partsOf(seal);
    if (parts.keyId === this.keyId) return seal;
    return this.#wrapped(this.#dataKey(parts, place), parts.sealedSecret, place);
  }

  #wrapped(dataKey: Buffer, sealedSecret: string, place: SecretPlace): string {
    const { id, bytes } = this.#keys.writing();
    const sealedKey = encrypt(bytes, dataKey, boundToKey(place, id));
    dataKey.fill(0);
    return [version, id, sealedKey, sealedSecret].join('.');
  }

  #dataKey({ keyId, sealedKey }: Parts, place: SecretPlace): Buffer {
    return decrypt(this.#find(keyId).bytes, sealedKey, boundToKey(place, keyId));
  }

  #find(keyId: string): MasterKey {
    const key = this.#keys.find(keyId);
    if (key === undefined) throw sealError(`sealed by master key ${keyId}, which is not loaded`);
    return key;
  }
}

/** The id of the master key of a seal. Throws `internal` when the text is not a seal. */
export function keyIdOf(seal: string): string {
  return partsOf(seal).keyId;
}

const version = 'v2';

interface Parts {
  readonly keyId: string;
  readonly sealedKey: string;
  readonly sealedSecret: string;
}

const nonceBytes = 12;
const tagBytes = 16;

function partsOf(seal: string): Parts {
  const [prefix, keyId, sealedKey, sealedSecret, ...rest] = seal.split('.');
  if (prefix !== version || keyId === undefined || sealedKey === undefined || sealedSecret === undefined) {
    throw sealError('not a seal of a known version');
  }
  if (rest.length > 0) throw sealError('not a seal: it has too many parts');
  return { keyId, sealedKey, sealedSecret };
}

/** JSON separates the parts: ("a", "bc") and ("ab", "c") bind differently. */
function boundToKey({ record, name, field }: SecretPlace, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([version, record, name, field, keyId]));
}

function boundToSecret({ record, name, field }: SecretPlace): Buffer {
  return Buffer.from(JSON.stringify([version, record, name, field]));
}

function encrypt(key: Buffer, plain: Buffer, bound: Buffer): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bound);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}

function decrypt(key: Buffer, sealed: string, bound: Buffer): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  // The decoder accepts several texts for the same bytes; a seal has one canonical text.
  if (bytes.toString('base64url') !== sealed) throw sealError('changed: not canonical base64url');
  if (bytes.length < nonceBytes + tagBytes) throw sealError('changed: too short');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
      .setAAD(bound)
      .setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    throw sealError('changed, or moved here from another place');
  }
}

/** No caller can fix this, so the reason goes only to the log. */
function sealError(why: string): ServiceError {
  return new ServiceError('internal', { detail: `a sealed secret does not open: ${why}` });
}

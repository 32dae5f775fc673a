import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { randomBytes } from '../random.ts';

/** Where a secret belongs. It is bound into the seal, so that a seal moved to another place does not open. */
export interface SecretPlace {
  /** The kind of record, for instance `integration` or `payment`. */
  readonly record: string;
  /** The record's own name, for instance `google/web`. */
  readonly name: string;
  readonly field: string;
}

/**
 * Envelope encryption: every secret has a random data key of its own, which the master key seals in its turn
 * (AES-256-GCM for both, NIST SP 800-38D). Rotating the master key rewraps data keys and never touches a secret.
 *
 * A seal reads `v1.<key id>.<sealed data key>.<sealed secret>`, the sealed parts being base64url of
 * 12 bytes of nonce, the ciphertext and 16 bytes of tag.
 */
export class Sealer {
  readonly #masterKey: Buffer;
  /** Names the master key without telling anything of it. */
  readonly keyId: string;

  /** @param masterKey 32 random bytes */
  constructor(masterKey: Buffer) {
    if (masterKey.length !== keyBytes) throw new RangeError(`a master key has ${keyBytes} bytes`);
    this.#masterKey = masterKey;
    this.keyId = createHash('sha256')
      .update('counterfoil master key')
      .update(masterKey)
      .digest('hex')
      .slice(0, 16);
  }

  seal(secret: string, place: SecretPlace): string {
    const dataKey = randomBytes(keyBytes);
    const bound = additionalData(place, this.keyId);
    const sealedKey = encrypt(this.#masterKey, dataKey, bound);
    return [version, this.keyId, sealedKey, encrypt(dataKey, Buffer.from(secret), bound)].join('.');
  }

  /** Throws when the seal was made by another master key, for another place, or was changed. */
  open(seal: string, place: SecretPlace): string {
    const [sealVersion, keyId, sealedKey, sealedSecret, ...rest] = seal.split('.');
    if (sealVersion !== version || sealedKey === undefined || sealedSecret === undefined || rest.length > 0) {
      throw new Error('this is no seal of a known version');
    }
    if (keyId !== this.keyId) throw new Error(`sealed by master key ${keyId}, not by ${this.keyId}`);
    const bound = additionalData(place, keyId);
    const dataKey = decrypt(this.#masterKey, sealedKey, bound);
    return decrypt(dataKey, sealedSecret, bound).toString();
  }
}

const version = 'v1';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** JSON keeps the parts apart: ("a", "bc") and ("ab", "c") bind differently. */
function additionalData({ record, name, field }: SecretPlace, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([version, record, name, field, keyId]));
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
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
    .setAAD(bound)
    .setAuthTag(bytes.subarray(-tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
}

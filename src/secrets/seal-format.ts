import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { randomBytes } from '../random.ts';

/** Where a secret belongs. Its seal is bound to this place: a seal that is moved elsewhere does not open. */
export interface EncryptionContext {
  /** The kind of record, for instance `integration` or `payment`. */
  readonly record: string;
  /** The record's own name, for instance `google/web`. */
  readonly name: string;
  readonly field: string;
  /**
   * The secret is erased when its charge ends, usually within seconds, so its seal may share a data key. Such a seal opens
   * only in an ephemeral context, so a shared data key that leaks cannot forge a client secret or a signing key.
   */
  readonly isEphemeral?: true;
}

export interface EphemeralContext extends EncryptionContext {
  readonly isEphemeral: true;
}

/** A data key of its own (`seal`), or one that the seals of a process and minute share (`sealWithSharedKey`). */
export const ownKeyVersion = 'v2';
export const sharedKeyVersion = 'v3';
export type SealVersion = typeof ownKeyVersion | typeof sharedKeyVersion;

/** A seal is `<version>.<key id>.<sealed data key>.<sealed secret>`. */
export interface SealParts {
  readonly version: SealVersion;
  /** The id of the master key. */
  readonly keyId: string;
  readonly sealedKey: string;
  readonly sealedSecret: string;
}

/** Throws `internal` when the text is not a seal. */
export function parseSeal(seal: string): SealParts {
  const [version, keyId, sealedKey, sealedSecret, ...rest] = seal.split('.');
  const isKnown = version === ownKeyVersion || version === sharedKeyVersion;
  if (!isKnown || keyId === undefined || sealedKey === undefined || sealedSecret === undefined) {
    throw sealError('not a seal of a known version');
  }
  if (rest.length > 0) throw sealError('not a seal: it has too many parts');
  return { version, keyId, sealedKey, sealedSecret };
}

export function formatSeal({ version, keyId, sealedKey, sealedSecret }: SealParts): string {
  return `${version}.${keyId}.${sealedKey}.${sealedSecret}`;
}

/** The id of the master key of a seal. Throws `internal` when the text is not a seal. */
export function sealKeyId(seal: string): string {
  return parseSeal(seal).keyId;
}

/**
 * What a data key of its own is bound to. JSON separates the parts: ("a", "bc") and ("ab", "c") bind differently.
 *
 * @param keyId of the master key
 */
export function boundToOwnKey(keyId: string, { record, name, field }: EncryptionContext): Buffer {
  return Buffer.from(JSON.stringify([ownKeyVersion, record, name, field, keyId]));
}

/** What a shared data key is bound to; it belongs to no place. @param keyId of the master key */
export function boundToSharedKey(keyId: string): Buffer {
  return Buffer.from(JSON.stringify([sharedKeyVersion, keyId]));
}

/** What the sealed secret is bound to, in both versions. */
export function boundToSecret(version: SealVersion, { record, name, field }: EncryptionContext): Buffer {
  return Buffer.from(JSON.stringify([version, record, name, field]));
}

/** No caller can fix this, so the reason goes only to the log. */
export function sealError(why: string): ServiceError {
  return new ServiceError('internal', { detail: `a sealed secret does not open: ${why}` });
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Encrypts under a random nonce. A key that is used more than once is a KeyObject: OpenSSL then imports it once.
 *
 * @param bound authenticated, and not part of the result
 * @returns nonce, ciphertext and tag in base64url
 */
export function encrypt(key: Buffer | KeyObject, plain: Buffer, bound: Buffer): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(bound);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}

/** Throws `internal` when the text is not what `encrypt` returned for this key and `bound`. */
export function decrypt(key: Buffer | KeyObject, sealed: string, bound: Buffer): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  // The decoder accepts several texts for the same bytes; a seal has one canonical text.
  if (bytes.toString('base64url') !== sealed) throw sealError('changed: not canonical base64url');
  if (bytes.length < nonceBytes + tagBytes) throw sealError('changed: too short');
  try {
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
      .setAAD(bound)
      .setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    throw sealError('changed, or moved here from another place');
  }
}

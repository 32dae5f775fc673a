import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import { randomBytes } from '../random.ts';
import { sealError } from './seal-format.ts';

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

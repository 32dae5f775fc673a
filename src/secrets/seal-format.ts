import { ServiceError } from '../errors.ts';
import type { EncryptionContext } from './encryption-context.ts';

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
export function partsOf(seal: string): SealParts {
  const [version, keyId, sealedKey, sealedSecret, ...rest] = seal.split('.');
  const isKnown = version === ownKeyVersion || version === sharedKeyVersion;
  if (!isKnown || keyId === undefined || sealedKey === undefined || sealedSecret === undefined) {
    throw sealError('not a seal of a known version');
  }
  if (rest.length > 0) throw sealError('not a seal: it has too many parts');
  return { version, keyId, sealedKey, sealedSecret };
}

export function sealOf({ version, keyId, sealedKey, sealedSecret }: SealParts): string {
  return `${version}.${keyId}.${sealedKey}.${sealedSecret}`;
}

/** The id of the master key of a seal. Throws `internal` when the text is not a seal. */
export function keyIdOf(seal: string): string {
  return partsOf(seal).keyId;
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

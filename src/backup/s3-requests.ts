import { setTimeout as sleep } from 'node:timers/promises';
import { BackupFailed } from './target.ts';

/** Attempts of a request to a distant target. With growing pauses between them they take some seconds. */
export const attemptsMax = 4;
/** The pause before a broken download continues, multiplied by the number of consecutive breaks. */
const resumePauseMs = 200;

const full: ReadonlySet<string> = new Set([
  'InsufficientStorage',
  'QuotaExceeded',
  'XMinioStorageFull',
  'XMinioAdminBucketQuotaExceeded',
]);
const rejected: ReadonlySet<string> = new Set([
  'AccessDenied',
  'AllAccessDisabled',
  'ExpiredToken',
  'Forbidden',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
]);

interface ApiError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** Turns an error of S3, its SDK or the network into a sentence for the operator. */
export function asS3Failure(error: unknown, target: string): unknown {
  if (error instanceof BackupFailed || !(error instanceof Error)) return error;
  const { name, code = name } = error as ApiError;
  if (full.has(name) || hasStatus(error, 507))
    return new BackupFailed('target_full', `${target}: the target is full (${name})`, error);
  return new BackupFailed('target_unusable', `${target}: ${explainError(error, name, code)}`, error);
}

export function hasStatus(error: unknown, ...statuses: readonly number[]): boolean {
  const status = (error as ApiError | undefined)?.$metadata?.httpStatusCode;
  return status !== undefined && statuses.includes(status);
}

function explainError(error: Error, name: string, code: string): string {
  if (name === 'NoSuchBucket' || hasStatus(error, 404)) return 'there is no such bucket';
  if (name === 'CredentialsProviderError')
    return 'there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role';
  if (rejected.has(name) || hasStatus(error, 401, 403)) return `the credentials are rejected (${name})`;
  if (/region is missing/i.test(error.message))
    return 'backup.s3.region (COUNTERFOIL_BACKUP_S3_REGION) is not set, and neither is AWS_REGION';
  if (hasStatus(error, 301, 400)) return `the request is rejected (${name}); check region and endpoint`;
  return `cannot be reached or used (${code})`;
}

interface Opened {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Identifies the content, so that a resumed download does not continue in another one. */
  readonly etag: string | undefined;
}

/**
 * A download that resumes after a break. Gives up after `attemptsMax` breaks without a byte between them.
 *
 * @param open opens the object from an offset on
 * @param translate turns the last error into one for the operator
 */
export async function downloadResumably(
  open: (from: number, etag: string | undefined) => Promise<Opened>,
  translate: (error: unknown) => unknown,
): Promise<AsyncIterable<Uint8Array>> {
  const first = await open(0, undefined);
  return resume(first, open, translate);
}

async function* resume(
  first: Opened,
  open: (from: number, etag: string | undefined) => Promise<Opened>,
  translate: (error: unknown) => unknown,
): AsyncIterable<Uint8Array> {
  let at = 0;
  let failures = 0;
  let opened: Opened | undefined = first;
  for (;;) {
    try {
      opened ??= await open(at, first.etag);
      for await (const piece of opened.pieces) {
        at += piece.length;
        failures = 0;
        yield piece;
      }
      return;
    } catch (error) {
      opened = undefined;
      if (++failures >= attemptsMax) throw translate(error);
      await sleep(resumePauseMs * failures);
    }
  }
}

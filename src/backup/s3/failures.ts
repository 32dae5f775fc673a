import { BackupFailed } from '../target.ts';

/** What S3, its SDK and the network report becomes a sentence for the operator. */

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

export function failureOf(error: unknown, target: string): unknown {
  if (error instanceof BackupFailed || !(error instanceof Error)) return error;
  const { name, code = name } = error as ApiError;
  if (full.has(name) || hasStatus(error, 507))
    return new BackupFailed('target_full', `${target}: the target is full (${name})`, error);
  return new BackupFailed('target_unusable', `${target}: ${sentenceOf(error, name, code)}`, error);
}

export function hasStatus(error: unknown, ...statuses: readonly number[]): boolean {
  const status = (error as ApiError | undefined)?.$metadata?.httpStatusCode;
  return status !== undefined && statuses.includes(status);
}

function sentenceOf(error: Error, name: string, code: string): string {
  if (name === 'NoSuchBucket' || hasStatus(error, 404)) return 'there is no such bucket';
  if (name === 'CredentialsProviderError')
    return 'there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile or role';
  if (rejected.has(name) || hasStatus(error, 401, 403)) return `the credentials are rejected (${name})`;
  if (/region is missing/i.test(error.message))
    return 'backup.s3.region (COUNTERFOIL_BACKUP_S3_REGION) is not set, and neither is AWS_REGION';
  if (hasStatus(error, 301, 400)) return `the request is rejected (${name}); check region and endpoint`;
  return `cannot be reached or used (${code})`;
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';
import { CommitUnknown } from '../engine.ts';
import {
  dynamoAttemptMsMax,
  dynamoCallMsMax,
  dynamoCallsMax,
  dynamoRetryDelayMsMax,
  dynamoRetryDelayMsMin,
} from './limits.ts';

/**
 * How an attempt failed. `throttled`: DynamoDB throttled it. `unsent`: no connection was made. `lost`: its outcome is
 * unknown. `busy`: another transaction holds the same item. `final`: a retry would fail in the same way.
 */
export type Failure = 'throttled' | 'unsent' | 'lost' | 'busy' | 'final';

/** As the API names them (Amazon DynamoDB Developer Guide, "Error handling with DynamoDB"). */
const throttlings = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'LimitExceededException',
  // The backups of a table that was just created cannot be turned on yet.
  'ContinuousBackupsUnavailableException',
]);
const credentialErrors = new Set([
  'AccessDeniedException',
  'CredentialsProviderError',
  'ExpiredTokenException',
  'IncompleteSignatureException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'RequestTimeTooSkewed',
  'UnrecognizedClientException',
]);
/** Another process is writing the same item. */
const conflicts = new Set(['TransactionConflictException', 'ReplicatedWriteConflictException']);
/** The reply is missing or incomplete. */
const replyErrors = new Set(['AbortError', 'SyntaxError', 'TimeoutError']);
const connectionErrors = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** A transaction was cancelled although all of its conditions hold. */
const cancelledForNow = new Set(['TransactionConflict', 'ProvisionedThroughputExceeded', 'ThrottlingError']);
/** These errors describe the current state, and so also the outcome of earlier attempts that lost their replies. */
const conclusiveErrors = new Set([
  'ConditionalCheckFailedException',
  'ResourceInUseException',
  'ResourceNotFoundException',
  'TransactionCanceledException',
  'UnknownOperationException',
  'ValidationException',
]);

interface SdkError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

export function failureOf(thrown: unknown): Failure {
  const error = thrown as SdkError;
  if (throttlings.has(error.name)) return 'throttled';
  if (conflicts.has(error.name)) return 'busy';
  // Our earlier attempt, which lost its reply, is still in progress.
  if (error.name === 'TransactionInProgressException') return 'lost';
  const reasons = error.CancellationReasons?.map(({ Code }) => Code ?? 'None').filter(
    (code) => code !== 'None',
  );
  if (reasons !== undefined)
    return reasons.length > 0 && reasons.every((code) => cancelledForNow.has(code)) ? 'busy' : 'final';
  if (error.code !== undefined && connectionErrors.has(error.code)) return 'unsent';
  const status = error.$metadata?.httpStatusCode;
  if (status !== undefined && status >= 500) return 'lost';
  return error.code !== undefined || replyErrors.has(error.name) ? 'lost' : 'final';
}

export function isCredentialsError({ name }: Error): boolean {
  return credentialErrors.has(name);
}

/** Sends one command. */
export type Attempt<Output> = (
  client: DynamoDBClient,
  options: { abortSignal: AbortSignal },
) => Promise<Output>;

/** How long calls may take, and how many may run. The default is the limit of the same name. */
export interface CallBounds {
  readonly attemptMsMax?: number | undefined;
  readonly callMsMax?: number | undefined;
  readonly callsMax?: number | undefined;
}

/**
 * Sends commands and retries until DynamoDB replies, with a jittered, growing pause between attempts ("full jitter":
 * Amazon Builders' Library, "Timeouts, retries, and backoff with jitter"). No attempt begins after `dynamoCallMsMax`. The
 * SDK's own retries are off: they do not report whether an attempt may have taken effect.
 *
 * Throws `overloaded` at once when `dynamoCallsMax` are in progress.
 */
export class Calls {
  readonly #client: DynamoDBClient;
  readonly #attemptMsMax: number;
  readonly #callMsMax: number;
  readonly #callsMax: number;
  #underWay = 0;

  constructor(
    client: DynamoDBClient,
    {
      attemptMsMax = dynamoAttemptMsMax,
      callMsMax = dynamoCallMsMax,
      callsMax = dynamoCallsMax,
    }: CallBounds = {},
  ) {
    this.#client = client;
    this.#attemptMsMax = attemptMsMax;
    this.#callMsMax = callMsMax;
    this.#callsMax = callsMax;
  }

  /** Throws the API's error, or ServiceError `overloaded` or `unavailable` when the time is over. */
  read<Output>(attempt: Attempt<Output>): Promise<Output> {
    return this.#send(attempt, (error) => outOfTime(error));
  }

  /**
   * The same for a command that is idempotent, or that the sender can recognize as its own. Throws CommitUnknown when
   * the time is over and an attempt may have taken effect.
   */
  write<Output>(attempt: Attempt<Output>): Promise<Output> {
    return this.#send(attempt, (error, wasLost) =>
      wasLost ? new CommitUnknown(`DynamoDB: ${(error as Error).name}`, error) : outOfTime(error),
    );
  }

  async #send<Output>(attempt: Attempt<Output>, giveUp: GiveUp): Promise<Output> {
    if (this.#underWay >= this.#callsMax) throw new ServiceError('overloaded', { retryAfterSeconds: 1 });
    this.#underWay++;
    try {
      return await this.#attempts(attempt, giveUp);
    } finally {
      this.#underWay--;
    }
  }

  async #attempts<Output>(attempt: Attempt<Output>, giveUp: GiveUp): Promise<Output> {
    const end = performance.now() + this.#callMsMax;
    let wasLost = false;
    for (let attempts = 0; ; attempts++) {
      try {
        const abortSignal = AbortSignal.timeout(this.#attemptMsMax);
        return await attempt(this.#client, { abortSignal });
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'final')
          throw wasLost && !isConclusive(error) ? giveUp(error, true) : translatedError(error);
        wasLost ||= failure === 'lost';
        const pauseMs = pauseAfter(attempts);
        if (performance.now() + pauseMs > end) throw giveUp(error, wasLost);
        await sleep(pauseMs);
      }
    }
  }
}

type GiveUp = (error: unknown, wasLost: boolean) => ServiceError;

function isConclusive(error: unknown): boolean {
  return conclusiveErrors.has((error as Error).name);
}

function pauseAfter(attempts: number): number {
  return Math.random() * Math.min(dynamoRetryDelayMsMin * 2 ** attempts, dynamoRetryDelayMsMax);
}

function outOfTime(error: unknown): ServiceError {
  const failure = failureOf(error);
  const code = failure === 'throttled' || failure === 'busy' ? 'overloaded' : 'unavailable';
  return new ServiceError(code, {
    retryAfterSeconds: 1,
    detail: `DynamoDB: ${(error as Error).name}`,
    cause: error,
  });
}

function translatedError(error: unknown): unknown {
  if (!isCredentialsError(error as Error)) return error;
  return new ServiceError('unavailable', {
    detail: `DynamoDB rejected the credentials: ${(error as Error).name}`,
    cause: error,
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';
import {
  dynamoAttemptMsMax,
  dynamoCallMsMax,
  dynamoRetryDelayMsMax,
  dynamoRetryDelayMsMin,
} from '../../limits.ts';
import { CommitUnknown } from '../engine.ts';

/**
 * What an attempt came to. `throttled`: it was turned away. `unsent`: nobody was reached. `lost`: no reply came, so that
 * nobody knows what became of it. `busy`: another transaction is on the same item. `final`: asking again would give
 * the same.
 */
export type Failure = 'throttled' | 'unsent' | 'lost' | 'busy' | 'final';

/** As the API names them (Amazon DynamoDB Developer Guide, "Error handling with DynamoDB"). */
const throttlings = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'LimitExceededException',
]);
const refusedCredentials = new Set([
  'AccessDeniedException',
  'CredentialsProviderError',
  'ExpiredTokenException',
  'IncompleteSignatureException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'RequestTimeTooSkewed',
  'UnrecognizedClientException',
]);
/** A reply that did not come, or not whole. */
const brokenReplies = new Set(['AbortError', 'SyntaxError', 'TimeoutError']);
const notReached = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Why a transaction was cancelled although each of its conditions holds. */
const cancelledForNow = new Set(['TransactionConflict', 'ProvisionedThroughputExceeded', 'ThrottlingError']);

interface SdkError extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

export function failureOf(thrown: unknown): Failure {
  const error = thrown as SdkError;
  if (throttlings.has(error.name)) return 'throttled';
  if (error.name === 'TransactionInProgressException' || error.name === 'TransactionConflictException')
    return 'busy';
  const reasons = error.CancellationReasons?.map(({ Code }) => Code ?? 'None').filter(
    (code) => code !== 'None',
  );
  if (reasons !== undefined)
    return reasons.length > 0 && reasons.every((code) => cancelledForNow.has(code)) ? 'busy' : 'final';
  if (error.code !== undefined && notReached.has(error.code)) return 'unsent';
  const status = error.$metadata?.httpStatusCode;
  if (status !== undefined && status >= 500) return 'lost';
  return error.code !== undefined || brokenReplies.has(error.name) ? 'lost' : 'final';
}

export function isCredentialsError({ name }: Error): boolean {
  return refusedCredentials.has(name);
}

/** Sends one command. */
export type Attempt<Output> = (
  client: DynamoDBClient,
  options: { abortSignal: AbortSignal },
) => Promise<Output>;

/**
 * Sends commands until each is answered, with a jittered and growing pause between the attempts ("full jitter": Amazon
 * Builders' Library, "Timeouts, retries, and backoff with jitter"), within `dynamoCallMsMax`. The SDK's own retries are
 * off: it does not tell whether an attempt may have had its effect.
 */
export class Calls {
  readonly #client: DynamoDBClient;

  constructor(client: DynamoDBClient) {
    this.#client = client;
  }

  /** Throws what the API refuses with, ServiceError `overloaded` or `unavailable` when the time is over. */
  read<Output>(attempt: Attempt<Output>): Promise<Output> {
    return this.#send(attempt, (error) => outOfTime(error));
  }

  /**
   * The same for a command whose repetition has no second effect, or whose sender can tell. Throws CommitUnknown when
   * the time is over and one of the attempts may have had its effect.
   */
  write<Output>(attempt: Attempt<Output>): Promise<Output> {
    return this.#send(attempt, (error, wasLost) =>
      wasLost ? new CommitUnknown(`DynamoDB: ${(error as Error).name}`) : outOfTime(error),
    );
  }

  async #send<Output>(
    attempt: Attempt<Output>,
    giveUp: (error: unknown, wasLost: boolean) => ServiceError,
  ): Promise<Output> {
    const end = performance.now() + dynamoCallMsMax;
    let wasLost = false;
    for (let attempts = 0; ; attempts++) {
      try {
        const abortSignal = AbortSignal.timeout(dynamoAttemptMsMax);
        return await attempt(this.#client, { abortSignal });
      } catch (error) {
        const failure = failureOf(error);
        if (failure === 'final') throw isCredentialsError(error as Error) ? credentialsRefused(error) : error;
        wasLost ||= failure === 'lost';
        const pauseMs = pauseAfter(attempts);
        if (performance.now() + pauseMs > end) throw giveUp(error, wasLost);
        await sleep(pauseMs);
      }
    }
  }
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

function credentialsRefused(error: unknown): ServiceError {
  return new ServiceError('unavailable', {
    detail: `DynamoDB refuses the credentials: ${(error as Error).name}`,
    cause: error,
  });
}

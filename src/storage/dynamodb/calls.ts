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
 * What an attempt came to. `throttled`: it was turned away. `unsent`: nobody was reached. `lost`: nobody knows what has
 * become of it. `busy`: another transaction is on the same item. `final`: asking again would give the same.
 */
export type Failure = 'throttled' | 'unsent' | 'lost' | 'busy' | 'final';

/** As the API names them (Amazon DynamoDB Developer Guide, "Error handling with DynamoDB"). */
const throttlings = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
  'LimitExceededException',
  // Of a table that is just made: its backups cannot be turned on yet.
  'ContinuousBackupsUnavailableException',
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
/** Somebody else is writing the same item. */
const conflicts = new Set(['TransactionConflictException', 'ReplicatedWriteConflictException']);
/** A reply that did not come, or not whole. */
const brokenReplies = new Set(['AbortError', 'SyntaxError', 'TimeoutError']);
const notReached = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Why a transaction was cancelled although each of its conditions holds. */
const cancelledForNow = new Set(['TransactionConflict', 'ProvisionedThroughputExceeded', 'ThrottlingError']);
/** They tell how things stand, and so what became of attempts before them whose replies were lost. */
const verdicts = new Set([
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
  // An earlier attempt of ours, whose reply was lost, is still under way.
  if (error.name === 'TransactionInProgressException') return 'lost';
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

/** How long calls may take, and how many there may be; the limits of these names without them. */
export interface CallBounds {
  readonly attemptMsMax?: number | undefined;
  readonly callMsMax?: number | undefined;
  readonly callsMax?: number | undefined;
}

/**
 * Sends commands until each is answered, with a jittered and growing pause between the attempts ("full jitter": Amazon
 * Builders' Library, "Timeouts, retries, and backoff with jitter"). No attempt begins after `dynamoCallMsMax`. The SDK's
 * own retries are off: it does not tell whether an attempt may have had its effect.
 *
 * Refuses with `overloaded`, at once, when `dynamoCallsMax` are under way.
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
        if (failure === 'final') throw wasLost && !isVerdict(error) ? giveUp(error, true) : refused(error);
        wasLost ||= failure === 'lost';
        const pauseMs = pauseAfter(attempts);
        if (performance.now() + pauseMs > end) throw giveUp(error, wasLost);
        await sleep(pauseMs);
      }
    }
  }
}

type GiveUp = (error: unknown, wasLost: boolean) => ServiceError;

function isVerdict(error: unknown): boolean {
  return verdicts.has((error as Error).name);
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

function refused(error: unknown): unknown {
  if (!isCredentialsError(error as Error)) return error;
  return new ServiceError('unavailable', {
    detail: `DynamoDB refuses the credentials: ${(error as Error).name}`,
    cause: error,
  });
}

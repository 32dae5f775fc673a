import { setTimeout as sleep } from 'node:timers/promises';
import type {
  $Command,
  DynamoDBClient,
  DynamoDBClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes,
} from '@aws-sdk/client-dynamodb';
import { ServiceError } from '../../errors.ts';
import { CommitUnknown } from '../engine.ts';

/** One attempt: DynamoDB replies within tens of milliseconds, to a scan page within some hundred; longer under load. */
export const attemptMsMax = 5_000;
/** The last attempt begins by then: longer than DynamoDB needs to scale up, shorter than callers wait. */
const callMsMax = 10_000;
/** The pause between attempts is a random share of a bound that doubles each time, from the first value to the second. */
const retryDelayMsMin = 25;
export const retryDelayMsMax = 1_000;
/** Calls in progress or waiting for a connection. At 5 ms each this is a tenth of a second of work. */
const callsMax = 4_096;

/**
 * How an attempt failed. `throttled`: DynamoDB throttled it. `unsent`: no connection was made. `lost`: its outcome is
 * unknown. `busy`: another transaction holds the same item. `final`: a retry would fail in the same way.
 */
type CallFailure = 'throttled' | 'unsent' | 'lost' | 'busy' | 'final';

/** Errors of throttling, as the API names them (Amazon DynamoDB Developer Guide, "Error handling with DynamoDB"). */
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
/** These errors describe the current state, and with it the outcome of earlier attempts that lost their replies. */
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

export function classifyFailure(thrown: unknown): CallFailure {
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

type Command<Input extends ServiceInputTypes, Output extends ServiceOutputTypes> = $Command<
  Input,
  Output,
  DynamoDBClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes
>;

/** How long calls may take, and how many may run. Each defaults to the bound of the same name. */
export interface CallBounds {
  readonly attemptMsMax?: number | undefined;
  readonly callMsMax?: number | undefined;
  readonly callsMax?: number | undefined;
}

/**
 * Sends commands and retries until DynamoDB replies, with a jittered, growing pause between attempts ("full jitter":
 * Amazon Builders' Library, "Timeouts, retries, and backoff with jitter"). No attempt begins after `callMsMax`. The
 * SDK's own retries are off: they do not report whether an attempt may have taken effect.
 *
 * Throws `overloaded` at once if `callsMax` are in progress.
 */
export class Calls {
  readonly #client: DynamoDBClient;
  readonly #attemptMsMax: number;
  readonly #callMsMax: number;
  readonly #callsMax: number;
  #underWay = 0;

  constructor(client: DynamoDBClient, bounds: CallBounds = {}) {
    this.#client = client;
    this.#attemptMsMax = bounds.attemptMsMax ?? attemptMsMax;
    this.#callMsMax = bounds.callMsMax ?? callMsMax;
    this.#callsMax = bounds.callsMax ?? callsMax;
  }

  /** Throws the API's error, or ServiceError `overloaded` or `unavailable` when the time is over. */
  read<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: Command<Input, Output>,
  ): Promise<Output> {
    return this.#send(command, (error) => outOfTime(error));
  }

  /**
   * As `read`, for a command that is idempotent, or that the sender can recognize as its own. Throws CommitUnknown when
   * the time is over and an attempt may have taken effect.
   */
  write<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: Command<Input, Output>,
  ): Promise<Output> {
    return this.#send(command, (error, wasLost) =>
      wasLost ? new CommitUnknown(`DynamoDB: ${(error as Error).name}`, error) : outOfTime(error),
    );
  }

  async #send<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: Command<Input, Output>,
    giveUp: GiveUp,
  ): Promise<Output> {
    if (this.#underWay >= this.#callsMax) throw new ServiceError('overloaded', { retryAfterSeconds: 1 });
    this.#underWay++;
    try {
      return await this.#retry(command, giveUp);
    } finally {
      this.#underWay--;
    }
  }

  async #retry<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: Command<Input, Output>,
    giveUp: GiveUp,
  ): Promise<Output> {
    const end = performance.now() + this.#callMsMax;
    let wasLost = false;
    for (let attempts = 0; ; attempts++) {
      try {
        const abortSignal = AbortSignal.timeout(this.#attemptMsMax);
        return await this.#client.send(command, { abortSignal });
      } catch (error) {
        const failure = classifyFailure(error);
        if (failure === 'final')
          throw wasLost && !isConclusive(error) ? giveUp(error, true) : translateCredentialsError(error);
        wasLost ||= failure === 'lost';
        const pauseMs = retryPauseMs(attempts);
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

function retryPauseMs(attempts: number): number {
  return Math.random() * Math.min(retryDelayMsMin * 2 ** attempts, retryDelayMsMax);
}

function outOfTime(error: unknown): ServiceError {
  const failure = classifyFailure(error);
  const code = failure === 'throttled' || failure === 'busy' ? 'overloaded' : 'unavailable';
  return new ServiceError(code, {
    retryAfterSeconds: 1,
    detail: `DynamoDB: ${(error as Error).name}`,
    cause: error,
  });
}

function translateCredentialsError(error: unknown): unknown {
  if (!isCredentialsError(error as Error)) return error;
  return new ServiceError('unavailable', {
    detail: `DynamoDB rejected the credentials: ${(error as Error).name}`,
    cause: error,
  });
}

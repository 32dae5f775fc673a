import { isRejectedUnread } from '../sending/outcomes.ts';
import { NotSentError, ReplyLostError } from '../sending/send-once.ts';
import { type Json, SquareError } from './api.ts';

/** The codes of a call's error. Square's messages are left out, because they repeat what was sent. */
export interface Fault {
  /** Undefined when there was no reply. */
  readonly status: number | undefined;
  /** False when no byte of the request was sent. */
  readonly wasSent: boolean;
  readonly codes: readonly string[];
  readonly categories: readonly string[];
  readonly fields: readonly string[];
  /** For the log. */
  readonly detail: string;
}

/** Errors of these categories mean that Square has read the request and will not carry it out. */
const definiteCategories = [
  'INVALID_REQUEST_ERROR',
  'PAYMENT_METHOD_ERROR',
  'REFUND_ERROR',
  'MERCHANT_SUBSCRIPTION_ERROR',
];
/** These codes concern another request, which may have succeeded, or an internal error at Square. */
const doubtfulCodes = ['IDEMPOTENCY_KEY_REUSED', 'CONFLICT', 'REQUEST_TIMEOUT', 'TEMPORARY_ERROR'];

/** https://developer.squareup.com/docs/build-basics/general-considerations/handling-errors */
export function readFault(error: unknown): Fault {
  const name =
    error instanceof NotSentError || error instanceof ReplyLostError ? error.message : errorName(error);
  const { status, errors } = error instanceof SquareError ? error : { status: undefined, errors: [] };
  const codes = listedWords(errors, 'code');
  const fields = listedWords(errors, 'field');
  const named = fields.map((field) => `field ${field}`);
  const detail = [name, ...(status === undefined ? [] : [status]), ...codes, ...named].join(' ');
  const wasSent = !(error instanceof NotSentError);
  return { status, wasSent, codes, categories: listedWords(errors, 'category'), fields, detail };
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown error';
}

/** No byte of the request was sent, or Square rejected it unread, as the HTTP status shows. */
export function wasTurnedAway({ status, wasSent }: Fault): boolean {
  return !wasSent || isRejectedUnread(status);
}

/** An error that is not from Square, for instance from a gateway on the way, proves nothing. */
export function isDefiniteRejection({ status, codes, categories }: Fault): boolean {
  if (status === undefined || status < 400 || status >= 500 || status === 408 || status === 409) return false;
  if (codes.some((code) => doubtfulCodes.includes(code))) return false;
  return categories.length > 0 && categories.every((category) => definiteCategories.includes(category));
}

function listedWords(errors: readonly Json[], key: 'code' | 'category' | 'field'): string[] {
  return errors
    .map((each) => each[key])
    .filter((word) => typeof word === 'string')
    .filter((word) => /^[A-Za-z0-9_.]{1,64}$/.test(word));
}

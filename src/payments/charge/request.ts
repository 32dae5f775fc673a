import { ServiceError } from '../../errors.ts';
import { holdsCardNumber, isNamedLikeCard } from '../card-number.ts';
import { currencyExponent } from '../currencies.ts';
import {
  amountMax,
  idempotencyKeyCharactersMax,
  metadataKeyCharactersMax,
  metadataKeysMax,
  metadataValueCharactersMax,
  tokenCharactersMax,
} from '../limits.ts';
import { type Metadata, type Payment, tokenDigest } from '../payment.ts';
import type { RoutePolicy } from '../payment-routes.ts';

/** What a caller asks for, as it came. */
export interface UncheckedChargeRequest {
  readonly processor: string;
  readonly route: string;
  readonly amount: number;
  readonly currency: string;
  readonly token: string;
  readonly metadata?: Metadata;
  readonly idempotencyKey: string | undefined;
  /** Whose keys these are: the id of an API key, or empty where callers have none. */
  readonly caller: string;
  readonly requestId: string;
  /** As the caller sent it (W3C Trace Context). */
  readonly traceparent?: string | undefined;
}

/** A payment request whose every field is known to be good. */
export interface CheckedChargeRequest {
  /** In the smallest unit of the currency. */
  readonly amount: number;
  /** Upper case. */
  readonly currency: string;
  readonly token: string;
  readonly metadata: Metadata | undefined;
  readonly idempotencyKey: string | undefined;
}

/** Refuses with `invalid_request`, naming the field; no message repeats what was sent. */
export function checkChargeRequest(
  request: UncheckedChargeRequest,
  policy: RoutePolicy,
): CheckedChargeRequest {
  const currency = checkCurrency(request.currency, policy);
  return {
    amount: checkAmount(request.amount, currency, policy),
    currency,
    token: checkToken(request.token),
    metadata: request.metadata === undefined ? undefined : checkMetadata(request.metadata),
    idempotencyKey: checkIdempotencyKey(request.idempotencyKey),
  };
}

function checkCurrency(text: string, { currencies }: RoutePolicy): string {
  // Letters beyond ASCII may become ASCII in upper case: no code is spelled with them.
  const currency = /^[A-Za-z]{3}$/.test(text) ? text.toUpperCase() : '';
  if (currencyExponent(currency) === undefined) {
    throw invalid('currency', 'currency must be a three-letter ISO 4217 code, for instance EUR.');
  }
  if (currencies !== undefined && !currencies.some((allowed) => allowed.toUpperCase() === currency)) {
    throw invalid('currency', `This payment route takes ${currencies.join(', ').toUpperCase()} alone.`);
  }
  return currency;
}

function checkAmount(
  amount: number,
  currency: string,
  { unit, minimum = 1, maximum = amountMax }: RoutePolicy,
): number {
  const minor = unit === 'minor' ? amount : minorUnits(amount, currencyExponent(currency) ?? 0);
  if (!Number.isInteger(minor)) {
    const places = currencyExponent(currency);
    throw invalid(
      'amount',
      unit === 'minor'
        ? 'amount must be a whole number of the smallest unit of the currency: 1050 means EUR 10.50.'
        : `amount must have at most ${places} decimal places, as ${currency} has.`,
    );
  }
  if (minor < minimum || minor > maximum) {
    throw invalid(
      'amount',
      `amount must be from ${minimum} to ${maximum} in the smallest unit of the currency${unit === 'major' ? '; it is sent in the currency itself' : ''}.`,
    );
  }
  return minor;
}

/**
 * A decimal amount in the smallest unit, exactly, or NaN where it does not fit. It works on the decimal digits: in
 * binary 1.1 × 100 is 110.00000000000001. The door lets no number through that its digits do not give back.
 */
export function minorUnits(amount: number, exponent: number): number {
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(String(amount));
  if (match === null) return Number.NaN;
  const [, whole = '', fraction = ''] = match;
  if (fraction.length > exponent) return Number.NaN;
  return Number(whole + fraction.padEnd(exponent, '0'));
}

function checkToken(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token) || token.length > tokenCharactersMax) {
    throw invalid('token', `token must be 1 to ${tokenCharactersMax} visible ASCII characters.`);
  }
  refuseCardNumber('token', token, 'any');
  return token;
}

function checkMetadata(metadata: Metadata): Metadata {
  const entries = Object.entries(metadata);
  if (entries.length > metadataKeysMax) {
    throw invalid('metadata', `metadata must have at most ${metadataKeysMax} keys.`);
  }
  for (const [key, value] of entries) {
    if (!/^[A-Za-z0-9_.-]+$/.test(key) || key.length > metadataKeyCharactersMax) {
      throw invalid(
        'metadata',
        `A key of metadata must be 1 to ${metadataKeyCharactersMax} of A-Z, a-z, 0-9, "_", "." and "-".`,
      );
    }
    if (value.length > metadataValueCharactersMax) {
      throw invalid(
        `metadata.${key}`,
        `A value of metadata must be at most ${metadataValueCharactersMax} characters long.`,
      );
    }
    if (!value.isWellFormed()) {
      throw invalid(`metadata.${key}`, 'A value of metadata must be well-formed Unicode.');
    }
    refuseCardNumber('metadata', key, 'any');
    refuseCardNumber('metadata', value, isNamedLikeCard(key) ? 'any' : 'grouped');
  }
  return metadata;
}

/** @param param what it came as: the header, or a parameter of a query */
export function checkIdempotencyKey(text: string | undefined, param = 'Idempotency-Key'): string | undefined {
  if (text === undefined) return undefined;
  // The Idempotency-Key draft of the IETF writes the key as a quoted string, Stripe writes it bare.
  const key = /^"([^"\\]*)"$/.exec(text)?.[1] ?? text;
  if (!/^[\x20-\x7e]+$/.test(key) || key.length > idempotencyKeyCharactersMax) {
    throw invalid(param, `${param} must be 1 to ${idempotencyKeyCharactersMax} printable ASCII characters.`);
  }
  refuseCardNumber(param, key, 'grouped');
  return key;
}

function refuseCardNumber(param: string, text: string, digitRuns: 'any' | 'grouped'): void {
  if (holdsCardNumber(text, digitRuns)) {
    throw invalid(
      param,
      `${param} looks like a card number. Card numbers must never be sent here: have the processor make a token of the card in the browser.`,
    );
  }
}

function invalid(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', { param, message });
}

/** The field in which a repeated request differs from the first, or undefined. */
export function differingField(
  payment: Payment,
  order: CheckedChargeRequest,
): 'amount' | 'currency' | 'token' | 'metadata' | undefined {
  if (payment.amount !== order.amount) return 'amount';
  if (payment.currency !== order.currency) return 'currency';
  if (payment.tokenDigest !== tokenDigest(payment.id, order.token)) return 'token';
  return sameMetadata(payment.metadata, order.metadata) ? undefined : 'metadata';
}

/** The order of its keys says nothing. */
function sameMetadata(a: Metadata = {}, b: Metadata = {}): boolean {
  const entries = Object.entries(a);
  return entries.length === Object.keys(b).length && entries.every(([key, value]) => b[key] === value);
}

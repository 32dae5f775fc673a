import { isLoopback, webOrigin } from '../../addresses.ts';
import { currencyExponent } from '../../currencies.ts';
import { invalidRequest, type ServiceError } from '../../errors.ts';
import { isNamedLikeCard, rejectCardNumber } from '../card-number.ts';
import {
  amountMax,
  idempotencyKeyCharactersMax,
  metadataKeyCharactersMax,
  metadataKeysMax,
  metadataValueCharactersMax,
  returnUrlCharactersMax,
  tokenCharactersMax,
} from '../limits.ts';
import { type Metadata, type Payment, tokenDigest } from '../payment.ts';
import type { RoutePolicy } from '../payment-routes.ts';
import { checkDetails, differingDetail, type RequestedDetails } from './details.ts';

/** A caller's charge request before validation. */
export interface UncheckedChargeRequest extends RequestedDetails {
  readonly processor: string;
  readonly route: string;
  readonly amount: number;
  readonly currency: string;
  readonly token: string;
  readonly metadata?: Metadata | undefined;
  readonly returnUrl?: string | undefined;
  /** Origins to which the cardholder may return, in addition to those of the route. */
  readonly returnOrigins?: ReturnOrigins;
  readonly idempotencyKey: string | undefined;
  /**
   * Whether this charge needs a route with a price. True for a publishable API key, because the buyer's browser writes
   * its requests.
   */
  readonly needsPrice: boolean;
  /** The scope of idempotency keys: the id of the API key, or empty if callers have none. */
  readonly caller: string;
  /** The address whose tried cards are counted (`card-testing.ts`); undefined if none are counted. */
  readonly buyerAddress?: string | undefined;
  readonly requestId: string;
  /** The caller's header (W3C Trace Context). */
  readonly traceparent?: string | undefined;
}

/** The request after validation: the amount is in the smallest unit of the currency, and the currency in upper case. */
export interface CheckedChargeRequest extends UncheckedChargeRequest {
  readonly isChecked: true;
}

/** Throws `invalid_request` with the field's name. No message repeats a value that was sent. */
export function checkChargeRequest(
  request: UncheckedChargeRequest,
  policy: RoutePolicy,
): CheckedChargeRequest {
  const currency = checkCurrency(request.currency, policy);
  const { metadata, returnUrl, returnOrigins = [] } = request;
  return {
    ...request,
    amount: checkAmount(request.amount, currency, policy),
    currency,
    token: checkToken(request.token),
    metadata: metadata && checkMetadata(metadata),
    returnUrl: returnUrl === undefined ? undefined : checkReturnUrl(returnUrl, returnOrigins, policy),
    idempotencyKey: checkIdempotencyKey(request.idempotencyKey),
    ...checkDetails(request),
    isChecked: true,
  };
}

function checkCurrency(text: string, { currencies }: RoutePolicy): string {
  // ASCII only, because some other letters become ASCII letters in upper case.
  const currency = /^[A-Za-z]{3}$/.test(text) ? text.toUpperCase() : '';
  if (currencyExponent(currency) === undefined) {
    throw invalidRequest('currency', 'currency must be a three-letter ISO 4217 code, for instance EUR.');
  }
  if (currencies !== undefined && !currencies.some((allowed) => allowed.toUpperCase() === currency)) {
    throw invalidRequest(
      'currency',
      `This payment route accepts only ${currencies.join(', ').toUpperCase()}.`,
    );
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
    throw invalidRequest(
      'amount',
      unit === 'minor'
        ? 'amount must be a whole number of the smallest unit of the currency: 1050 means EUR 10.50.'
        : `amount must have at most ${places} decimal places, as ${currency} has.`,
    );
  }
  if (minor < minimum || minor > maximum) {
    throw invalidRequest(
      'amount',
      `amount must be from ${minimum} to ${maximum} in the smallest unit of the currency` +
        `${unit === 'major' ? '; it is sent in the currency itself' : ''}.`,
    );
  }
  return minor;
}

/**
 * Converts a decimal amount exactly to the smallest unit; NaN if it has too many decimals. It works on the decimal
 * digits, because in binary 1.1 × 100 is 110.00000000000001. The HTTP layer rejects numbers that lose digits when
 * parsed.
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
    throw invalidRequest('token', `token must be 1 to ${tokenCharactersMax} visible ASCII characters.`);
  }
  rejectCardNumber('token', token, 'any');
  return token;
}

/** The service sends the payment id to the processor under such a key, together with the caller's metadata. */
const ownMetadataPrefix = 'counterfoil_';

export function checkMetadata(metadata: Metadata): Metadata {
  const entries = Object.entries(metadata);
  if (entries.length > metadataKeysMax) {
    throw invalidRequest('metadata', `metadata must have at most ${metadataKeysMax} keys.`);
  }
  for (const [key, value] of entries) {
    if (!/^[A-Za-z0-9_.-]+$/.test(key) || key.length > metadataKeyCharactersMax) {
      throw invalidRequest(
        'metadata',
        `A key of metadata must be 1 to ${metadataKeyCharactersMax} of A-Z, a-z, 0-9, "_", "." and "-".`,
      );
    }
    if (key.startsWith(ownMetadataPrefix)) {
      throw invalidRequest(
        'metadata',
        `Keys of metadata that begin with "${ownMetadataPrefix}" belong to the service.`,
      );
    }
    if (value.length > metadataValueCharactersMax) {
      throw invalidRequest(
        `metadata.${key}`,
        `A value of metadata must be at most ${metadataValueCharactersMax} characters long.`,
      );
    }
    if (!value.isWellFormed()) {
      throw invalidRequest(`metadata.${key}`, 'A value of metadata must be well-formed Unicode.');
    }
    rejectCardNumber('metadata', key, 'any');
    rejectCardNumber('metadata', value, isNamedLikeCard(key) ? 'any' : 'alone');
  }
  return metadata;
}

/** @param param the header or query parameter that held the key */
export function checkIdempotencyKey(text: string | undefined, param = 'Idempotency-Key'): string | undefined {
  if (text === undefined) return undefined;
  // The Idempotency-Key draft of the IETF quotes the key, Stripe does not.
  const key = /^"([^"\\]*)"$/.exec(text)?.[1] ?? text;
  if (!/^[\x20-\x7e]+$/.test(key) || key.length > idempotencyKeyCharactersMax) {
    throw invalidRequest(
      param,
      `${param} must be 1 to ${idempotencyKeyCharactersMax} printable ASCII characters.`,
    );
  }
  rejectCardNumber(param, key, 'alone');
  return key;
}

/** The field in which a repeated request differs from the first, or undefined. */
export function differingField(payment: Payment, request: CheckedChargeRequest): string | undefined {
  if (payment.amount !== request.amount) return 'amount';
  if (payment.currency !== request.currency) return 'currency';
  // The processor's records do not have the other fields.
  if (payment.isAdopted) return undefined;
  if (payment.tokenDigest !== tokenDigest(payment.id, request.token)) return 'token';
  if (payment.returnUrl !== request.returnUrl) return 'return_url';
  if (!sameMetadata(payment.metadata, request.metadata)) return 'metadata';
  return differingDetail(payment, request);
}

/** Ignores the order of the keys. */
function sameMetadata(a: Metadata = {}, b: Metadata = {}): boolean {
  const entries = Object.entries(a);
  return entries.length === Object.keys(b).length && entries.every(([key, value]) => b[key] === value);
}

/** Origins, or `loopback`: all of this machine, for a service without keys. */
export type ReturnOrigins = readonly string[] | 'loopback';

/** Visible ASCII without a backslash, which browsers read as a slash. */
const plain = /^[\x21-\x5b\x5d-\x7e]+$/;

/**
 * Checks the URL to which the bank returns the cardholder. It must be absolute, on an origin of the caller's key or of
 * the route (OWASP, Unvalidated Redirects and Forwards). Throws `invalid_request`.
 *
 * @returns the URL as a browser writes it
 */
export function checkReturnUrl(
  text: string,
  allowed: ReturnOrigins,
  { return_urls: ofRoute = [] }: RoutePolicy,
): string {
  if (text.length > returnUrlCharactersMax || !plain.test(text) || !URL.canParse(text))
    throw malformedReturnUrl();
  const url = new URL(text);
  const { username, password, href, hostname } = url;
  const origin = webOrigin(url);
  if (origin === undefined || username !== '' || password !== '' || href.length > returnUrlCharactersMax)
    throw malformedReturnUrl();
  const isOfCaller = allowed === 'loopback' ? isLoopback(hostname) : allowed.includes(origin);
  if (!isOfCaller && !ofRoute.some((each) => URL.canParse(each) && webOrigin(new URL(each)) === origin)) {
    const message =
      'return_url must be on an origin of the publishable key, or of return_urls in the settings of this payment route.';
    throw invalidRequest('return_url', message);
  }
  return href;
}

function malformedReturnUrl(): ServiceError {
  const message =
    `return_url must be an absolute https URL of at most ${returnUrlCharactersMax} visible ASCII characters, without a ` +
    'user name; http is accepted only for this machine.';
  return invalidRequest('return_url', message);
}

import { ServiceError } from '../../errors.ts';
import { isLoopback, webOriginOf } from '../../origins.ts';
import { returnUrlCharactersMax } from '../limits.ts';
import type { RoutePolicy } from '../payment-routes.ts';

/** Origins, or `loopback`: all of this machine, for a service without keys. */
export type ReturnOrigins = readonly string[] | 'loopback';

/** Visible ASCII without a backslash, which browsers read as a slash. */
const plain = /^[\x21-\x5b\x5d-\x7e]+$/;

/**
 * Checks where the cardholder's bank sends them back to: an absolute URL on an origin of the caller's key or of the route
 * (OWASP, Unvalidated Redirects and Forwards). Throws `invalid_request`.
 *
 * @returns the URL as a browser writes it
 */
export function checkReturnUrl(
  text: string,
  allowed: ReturnOrigins,
  { return_urls: ofRoute = [] }: RoutePolicy,
): string {
  if (text.length > returnUrlCharactersMax || !plain.test(text) || !URL.canParse(text)) throw malformed();
  const url = new URL(text);
  const { username, password, href, hostname } = url;
  const origin = webOriginOf(url);
  if (origin === undefined || username !== '' || password !== '' || href.length > returnUrlCharactersMax)
    throw malformed();
  const isOfCaller = allowed === 'loopback' ? isLoopback(hostname) : allowed.includes(origin);
  if (!isOfCaller && !ofRoute.some((each) => URL.canParse(each) && webOriginOf(new URL(each)) === origin)) {
    const message =
      'return_url must be on an origin of the publishable key, or of return_urls in the settings of this payment route.';
    throw new ServiceError('invalid_request', { param: 'return_url', message });
  }
  return href;
}

function malformed(): ServiceError {
  const message =
    `return_url must be an absolute https URL of at most ${returnUrlCharactersMax} visible ASCII characters, without a ` +
    'user name; http is accepted only for this machine.';
  return new ServiceError('invalid_request', { param: 'return_url', message });
}

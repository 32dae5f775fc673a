import { webOriginOf } from '../origins.ts';
import { returnUrlCharactersMax } from './limits.ts';
import { SignInError } from './sign-in-error.ts';

/** Where the browser goes after the sign-in. */
export interface ReturnAddress {
  /** Absolute, so that every browser resolves it in the same way. */
  readonly url: string;
  /** Whether it is on our own origin, which has the session cookie. */
  readonly isOurs: boolean;
}

/**
 * The address that a link wants to return to: a path on our own origin, or exactly one of the registered return URLs
 * (OWASP, Unvalidated Redirects and Forwards; RFC 9700, 4.11). Throws SignInError with the reason `return_address`.
 *
 * @param requested undefined if the link has none
 * @param origin our own public origin
 */
export function returnAddress(
  requested: string | undefined,
  { origin, returnUrls, home }: { origin: string; returnUrls: readonly string[]; home: string },
): ReturnAddress {
  if (requested === undefined) return { url: home, isOurs: true };
  if (returnUrls.includes(requested))
    return { url: requested, isOurs: webOriginOf(new URL(requested)) === origin };
  const url = pathOnOrigin(requested, origin);
  if (url === undefined) throw new SignInError('return_address');
  return { url, isOurs: true };
}

/** Visible ASCII after exactly one slash. Browsers read a backslash as a slash, and drop tabs and line ends. */
const plainPath = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

function pathOnOrigin(text: string, origin: string): string | undefined {
  if (text.length > returnUrlCharactersMax || !plainPath.test(text) || !URL.canParse(text, origin))
    return undefined;
  const url = new URL(text, origin);
  // Percent-encoding may have made it longer.
  if (url.href.length - origin.length > returnUrlCharactersMax) return undefined;
  // Resolving dot segments can leave two slashes at the front.
  return webOriginOf(url) === origin && !url.pathname.startsWith('//') ? url.href : undefined;
}

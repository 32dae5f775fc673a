import { returnUrlCharactersMax } from './limits.ts';
import { SignInRefusal } from './refusal.ts';

/** Where a browser goes when it is signed in. */
export interface ReturnAddress {
  /** Absolute, so that no browser reads it in its own way. */
  readonly url: string;
  /** Whether it is on an origin that has our cookie. */
  readonly isOurs: boolean;
}

/**
 * The address that a link asks to return to: a path on our own origin, or an exact member of the registered return
 * URLs (OWASP, Unvalidated Redirects and Forwards; RFC 9700, 4.11). Refuses with the reason `return_address`.
 *
 * @param asked undefined where the link does not say
 * @param origin our own, as browsers know it
 */
export function returnAddress(
  asked: string | undefined,
  { origin, returnUrls, home }: { origin: string; returnUrls: readonly string[]; home: string },
): ReturnAddress {
  if (asked === undefined) return { url: home, isOurs: true };
  if (returnUrls.includes(asked)) return { url: asked, isOurs: new URL(asked).origin === origin };
  const url = pathOnOrigin(asked, origin);
  if (url === undefined) throw new SignInRefusal('return_address');
  return { url, isOurs: true };
}

/** Visible ASCII that begins with one slash; browsers take a backslash for a slash, and drop tabs and line ends. */
const plainPath = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

function pathOnOrigin(text: string, origin: string): string | undefined {
  if (text.length > returnUrlCharactersMax || !plainPath.test(text) || !URL.canParse(text, origin))
    return undefined;
  const url = new URL(text, origin);
  // Percent-encoded it may be longer.
  if (url.href.length - origin.length > returnUrlCharactersMax) return undefined;
  // Dots that are taken out can leave two slashes at the front.
  return url.origin === origin && !url.pathname.startsWith('//') ? url.href : undefined;
}

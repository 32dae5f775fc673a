import { ServiceError } from '../errors.ts';
import { webOriginOf } from '../origins.ts';
import { type CredentialFields, type Credentials, readCredentials } from './credentials.ts';
import { returnUrlCharactersMax, returnUrlsMax, scopeCharactersMax, scopesMax } from './limits.ts';
import { identityProviders, type ProviderName } from './types.ts';

/** The body as received: the credentials, and the optional fields. */
export interface RegistrationFields {
  readonly return_urls?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly [credential: string]: string | readonly string[] | undefined;
}

/** A validated registration. */
export interface Registration extends Credentials {
  /** Addresses on other origins that a browser may be sent back to; compared character by character. */
  readonly returnUrls: readonly string[];
  readonly scopes: readonly string[];
}

/**
 * Throws `invalid_request` with the name of the field. No message repeats a value that was sent.
 *
 * @param isNamed whether the operator has named a host; the service may call it over http
 */
export function readRegistration(
  provider: ProviderName,
  fields: RegistrationFields,
  isNamed: (host: string) => boolean = () => false,
): Registration {
  const { return_urls: returnUrls = [], scopes, ...credentials } = fields;
  return {
    ...readCredentials(provider, credentials as CredentialFields, isNamed),
    returnUrls: checkReturnUrls(returnUrls),
    scopes: checkScopes(provider, scopes),
  };
}

function checkReturnUrls(urls: readonly string[]): readonly string[] {
  if (urls.length > returnUrlsMax) {
    throw invalid('return_urls', `return_urls must have at most ${returnUrlsMax} addresses.`);
  }
  urls.forEach((url, index) => {
    if (!isReturnUrl(url)) {
      throw invalid(
        `return_urls.${index}`,
        'A return URL must be an absolute, normalized https URL without user or fragment, and without a code ' +
          'in its query (http only on loopback).',
      );
    }
  });
  return [...new Set(urls)];
}

/** Only a normalized URL is allowed: an ambiguous one is unsafe in an allow-list. */
function isReturnUrl(text: string): boolean {
  if (text.length > returnUrlCharactersMax || !URL.canParse(text)) return false;
  const url = new URL(text);
  return (
    webOriginOf(url) !== undefined &&
    url.href === text &&
    url.username === '' &&
    url.password === '' &&
    // Addresses are compared character by character, so a pattern never matches.
    !url.hostname.includes('*') &&
    !text.includes('#') &&
    !url.searchParams.has('code')
  );
}

/** RFC 6749, 3.3: a scope has no spaces. */
function checkScopes(provider: ProviderName, wanted: readonly string[] | undefined): readonly string[] {
  const { defaultScopes, requiredScopes } = identityProviders[provider];
  if (wanted === undefined) return defaultScopes;
  const wrong = wanted.findIndex(
    (scope) => !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope) || scope.length > scopeCharactersMax,
  );
  if (wrong >= 0)
    throw invalid(`scopes.${wrong}`, 'A scope must be visible ASCII without spaces, quotes or backslashes.');
  if (wanted.length > scopesMax) throw invalid('scopes', `scopes must have at most ${scopesMax} entries.`);
  return [...new Set([...requiredScopes, ...wanted])];
}

function invalid(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', { param, message });
}

import { ServiceError } from '../errors.ts';
import { isLoopback } from '../origins.ts';
import { type CredentialFields, type Credentials, readCredentials } from './credentials.ts';
import { returnUrlCharactersMax, returnUrlsMax, scopeCharactersMax, scopesMax } from './limits.ts';
import { identityProviders, type ProviderName } from './providers.ts';

/** A body as it came: the credentials, and what may stand beside them. */
export interface RegistrationFields {
  readonly return_urls?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly [credential: string]: string | readonly string[] | undefined;
}

/** What is registered, checked. */
export interface Registration extends Credentials {
  /** Addresses beyond our own origin that a browser may be sent back to; compared character by character. */
  readonly returnUrls: readonly string[];
  readonly scopes: readonly string[];
}

/** Refuses with `invalid_request`, naming the field; no message repeats what was sent. */
/** @param isNamed whether the operator has named a host, which may then be asked over http */
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
    throw invalid('return_urls', `return_urls may name at most ${returnUrlsMax} addresses.`);
  }
  urls.forEach((url, index) => {
    if (!isReturnUrl(url)) {
      throw invalid(
        `return_urls.${index}`,
        'A return URL must be a whole https URL as browsers write it, without user or fragment, and without a code ' +
          'in its query (http on loopback alone).',
      );
    }
  });
  return [...new Set(urls)];
}

/** As a browser writes it: what reads in two ways is no entry of an allow-list. */
function isReturnUrl(text: string): boolean {
  if (text.length > returnUrlCharactersMax || !URL.canParse(text)) return false;
  const url = new URL(text);
  const isSafe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  return (
    isSafe &&
    url.href === text &&
    url.username === '' &&
    url.password === '' &&
    // Addresses are compared to the character: a pattern would never match.
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
    throw invalid(`scopes.${wrong}`, 'A scope is visible ASCII without spaces, quotes or backslashes.');
  if (wanted.length > scopesMax) throw invalid('scopes', `scopes may name at most ${scopesMax}.`);
  return [...new Set([...requiredScopes, ...wanted])];
}

function invalid(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', { param, message });
}

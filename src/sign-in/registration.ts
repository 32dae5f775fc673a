import { isLoopback, webOrigin } from '../addresses.ts';
import { invalidRequest } from '../errors.ts';
import {
  clientCredentialCharactersMax,
  issuerCharactersMax,
  returnUrlCharactersMax,
  returnUrlsMax,
  scopeCharactersMax,
  scopesMax,
} from './limits.ts';
import { identityProviders, type ProviderName } from './types.ts';

/** The body as received: the credentials and the optional fields. */
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
    throw invalidRequest('return_urls', `return_urls must have at most ${returnUrlsMax} addresses.`);
  }
  urls.forEach((url, index) => {
    if (!isReturnUrl(url)) {
      throw invalidRequest(
        `return_urls.${index}`,
        'A return URL must be an absolute, normalized https URL without user or fragment, and without a code ' +
          'in its query (http only on loopback).',
      );
    }
  });
  return [...new Set(urls)];
}

/** Allows only a normalized URL, because an ambiguous URL is unsafe in an allow-list. */
function isReturnUrl(text: string): boolean {
  if (text.length > returnUrlCharactersMax || !URL.canParse(text)) return false;
  const url = new URL(text);
  return (
    webOrigin(url) !== undefined &&
    url.href === text &&
    url.username === '' &&
    url.password === '' &&
    // Addresses are compared character by character, so a pattern would never match.
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
    throw invalidRequest(
      `scopes.${wrong}`,
      'A scope must be visible ASCII without spaces, quotes or backslashes.',
    );
  if (wanted.length > scopesMax)
    throw invalidRequest('scopes', `scopes must have at most ${scopesMax} entries.`);
  return [...new Set([...requiredScopes, ...wanted])];
}

/** The validated credentials that the provider issued to the caller. */
interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Only for `oidc`: the issuer identifier (OpenID Connect Discovery 1.0, section 3). */
  readonly issuer?: string;
}

/** The body as received: names begin with `IDP_` or with the provider's prefix. */
type CredentialFields = Readonly<Record<string, string | undefined>>;

/** Throws `invalid_request` with the name of the field. No message repeats a value that was sent. */
function readCredentials(
  provider: ProviderName,
  fields: CredentialFields,
  isNamed: (host: string) => boolean = () => false,
): Credentials {
  rejectUnknownFields(provider, fields);
  const clientId = visibleAscii(requireField(provider, fields, 'CLIENT_ID'));
  const clientSecret = visibleAscii(requireField(provider, fields, 'CLIENT_SECRET'));
  if (!identityProviders[provider].needsIssuer) return { clientId, clientSecret };
  return { clientId, clientSecret, issuer: checkIssuer(requireField(provider, fields, 'ISSUER'), isNamed) };
}

interface Field {
  readonly name: string;
  readonly value: string;
}

function rejectUnknownFields(provider: ProviderName, fields: CredentialFields): void {
  const { prefix, needsIssuer } = identityProviders[provider];
  const names = ['CLIENT_ID', 'CLIENT_SECRET', ...(needsIssuer ? ['ISSUER'] : [])];
  const known = new Set(names.flatMap((name) => [`IDP_${name}`, `${prefix}_${name}`]));
  const unknown = Object.keys(fields).find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw invalidRequest(unknown, `Unknown field for ${provider}. Allowed fields: ${[...known].join(', ')}.`);
  }
}

/** The value under the neutral name or the provider's name. If both are sent, they must be equal. */
function requireField(provider: ProviderName, fields: CredentialFields, name: string): Field {
  const neutral = `IDP_${name}`;
  const own = `${identityProviders[provider].prefix}_${name}`;
  const value = fields[neutral] ?? fields[own];
  if (value === undefined) throw invalidRequest(neutral, `${neutral} (or ${own}) is required.`);
  if (fields[own] !== undefined && fields[own] !== value) {
    throw invalidRequest(own, `${neutral} and ${own} are both present and differ.`);
  }
  return { name: fields[neutral] === undefined ? own : neutral, value };
}

/** RFC 6749, appendix A.1 and A.2, allows %x20-7E. But no provider issues spaces, so a space was pasted by mistake. */
function visibleAscii({ name, value }: Field): string {
  if (!/^[\x21-\x7e]+$/.test(value) || value.length > clientCredentialCharactersMax) {
    throw invalidRequest(
      name,
      `${name} must be 1 to ${clientCredentialCharactersMax} visible ASCII characters.`,
    );
  }
  return value;
}

function checkIssuer({ name, value }: Field, isNamed: (host: string) => boolean): string {
  const url = value.length <= issuerCharactersMax && URL.canParse(value) ? new URL(value) : undefined;
  const plainHttpAllowed =
    url !== undefined && url.protocol === 'http:' && (isLoopback(url.hostname) || isNamed(url.hostname));
  if (
    url === undefined ||
    (url.protocol !== 'https:' && !plainHttpAllowed) ||
    /[?#]/.test(value) ||
    url.username !== '' ||
    url.password !== '' ||
    // The address of a discovery document is not an issuer, because no `iss` equals it.
    url.pathname.includes('/.well-known/')
  ) {
    throw invalidRequest(
      name,
      `${name} must be the issuer, an https URL without user, query or fragment ` +
        '(http only for loopback and COUNTERFOIL_PRIVATE_ISSUERS).',
    );
  }
  return value;
}

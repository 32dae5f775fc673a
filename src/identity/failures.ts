import { errors as joseErrors } from 'jose';
import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import { OutboundError } from './outbound.ts';
import { type FailureReason, ProviderFailure } from './provider.ts';

/** Errors that mean that the user or a policy denied access (RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6). */
const denials = new Set([
  'access_denied',
  'login_required',
  'consent_required',
  'interaction_required',
  'account_selection_required',
]);

/** Codes of openid-client and jose for a missing or malformed response. Their other codes mean a failed check. */
const unreachableCodes = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'ERR_JWKS_TIMEOUT',
]);

/** Converts an error of the libraries into one of the port. */
export function asFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error;
  if (error instanceof AuthorizationResponseError) {
    return new ProviderFailure(
      denials.has(error.error) ? 'denied' : 'rejected',
      listedCode(error.error),
      error,
    );
  }
  if (error instanceof ResponseBodyError)
    return new ProviderFailure('rejected', listedCode(error.error), error);
  if (error instanceof WWWAuthenticateChallengeError)
    return new ProviderFailure('rejected', 'challenge', error);

  const chain = causeChain(error);
  const outbound = chain.find((cause) => cause instanceof OutboundError);
  if (outbound !== undefined) return new ProviderFailure('unreachable', `outbound_${outbound.code}`, error);
  const [code = 'unknown'] = chain.flatMap((cause) => errorCode(cause) ?? []);
  return new ProviderFailure(failureReason(code, error), code, error, reportedIssuer(chain));
}

/** The issuer of a discovery document that differs from the requested one, for example by a trailing slash. */
function reportedIssuer(chain: readonly unknown[]): string | undefined {
  for (const each of chain) {
    const { attribute, body } = (each ?? {}) as {
      readonly attribute?: unknown;
      readonly body?: { issuer?: unknown };
    };
    const issuer = attribute === 'issuer' ? body?.issuer : undefined;
    if (typeof issuer !== 'string' || issuer.length > reportedCharactersMax || !URL.canParse(issuer))
      continue;
    const { protocol, href } = new URL(issuer);
    const isPlain = /^https?:$/.test(protocol) && (href === issuer || href === `${issuer}/`);
    if (isPlain) return issuer;
  }
  return undefined;
}

/** Long enough for any issuer in use; it appears in the error message of a registration. */
const reportedCharactersMax = 500;

function failureReason(code: string, error: unknown): FailureReason {
  if (unreachableCodes.has(code) || /^E[A-Z]+$/.test(code)) return 'unreachable';
  // The key set is missing or not JSON.
  if (error instanceof joseErrors.JOSEError && code === 'ERR_JOSE_GENERIC') return 'unreachable';
  return code === 'unknown' && !(error instanceof TypeError) ? 'unreachable' : 'untrusted';
}

/** The error code of a provider, or `unlisted_error` if it does not have the form of one. */
function listedCode(error: string): string {
  return /^[a-z_]{1,40}$/.test(error) ? error : 'unlisted_error';
}

function causeChain(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  for (let each = error; each !== undefined && chain.length < 10; each = (each as Error | null)?.cause) {
    chain.push(each);
  }
  return chain;
}

function errorCode(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[A-Z_]{1,60}$/.test(code) ? code : undefined;
}

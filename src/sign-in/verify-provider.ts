import { ServiceError } from '../errors.ts';
import { type FailureReason, ProviderFailure } from '../identity/provider.ts';
import { integrationUrls, type SignInContext } from './context.ts';
import type { RegistrationFields } from './registration.ts';
import { identityProviders, isProviderName } from './types.ts';

const reasons: Readonly<Record<FailureReason, string>> = {
  unreachable: 'could not be reached for discovery: it is down, slow, or at an address that is not allowed',
  untrusted: 'does not return valid metadata of this issuer (OpenID Connect Discovery 1.0, 3)',
  rejected: 'rejected the discovery request',
  denied: 'rejected the discovery request',
};

/**
 * Discovers the provider of a registration, before the registration is written. Throws `provider_not_found`, and
 * `invalid_request` with the issuer's field and the problem.
 */
export async function verifyProvider(
  context: SignInContext,
  provider: string,
  name: string,
  fields: RegistrationFields,
): Promise<void> {
  const registration = context.integrations.read(provider, name, fields);
  if (!isProviderName(provider)) throw new ServiceError('provider_not_found');
  const { redirectUri } = integrationUrls(context, { provider, name });
  try {
    await context.providers[provider].discover({ ...registration, redirectUri });
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    const { needsIssuer } = identityProviders[provider];
    const reported =
      error.reportedIssuer === undefined ? '' : `; it reports exactly this issuer: ${error.reportedIssuer} `;
    throw new ServiceError('invalid_request', {
      param: needsIssuer ? 'IDP_ISSUER' : 'identity_provider',
      message: `The provider ${reasons[error.reason]}${reported}; nothing was written.`,
      detail: error.detail,
      cause: error,
    });
  }
}

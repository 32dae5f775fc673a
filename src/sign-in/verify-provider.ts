import { ServiceError } from '../errors.ts';
import { type FailureReason, ProviderFailure } from '../identity/provider.ts';
import { addressesOf, type SignInContext } from './context.ts';
import { identityProviders, isProviderName } from './providers.ts';
import type { RegistrationFields } from './registration.ts';

const reasons: Readonly<Record<FailureReason, string>> = {
  unreachable:
    'could not be asked what it says of itself: it is down, slow, or at an address that is not asked',
  untrusted: 'does not say of itself what an issuer must (OpenID Connect Discovery 1.0, 3)',
  refused: 'refused to say what it is',
  denied: 'refused to say what it is',
};

/**
 * Asks the provider of a registration, before it is written, what it says of itself. Refuses with `provider_not_found`
 * and `invalid_request`, which names the issuer and says what is wrong with it.
 */
export async function verifyProvider(
  context: SignInContext,
  provider: string,
  name: string,
  fields: RegistrationFields,
): Promise<void> {
  const registration = context.integrations.read(provider, name, fields);
  if (!isProviderName(provider)) throw new ServiceError('provider_not_found');
  const { redirectUri } = addressesOf(context, { provider, name });
  try {
    await context.providers[provider].discover({ ...registration, redirectUri });
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    const { needsIssuer } = identityProviders[provider];
    const reported =
      error.reportedIssuer === undefined
        ? ''
        : `; it reports the issuer ${error.reportedIssuer} , to the character`;
    throw new ServiceError('invalid_request', {
      param: needsIssuer ? 'IDP_ISSUER' : 'identity_provider',
      message: `The provider ${reasons[error.reason]}${reported}; nothing was written.`,
      detail: error.detail,
      cause: error,
    });
  }
}

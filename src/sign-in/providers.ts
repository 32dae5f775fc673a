/** The identity providers that an integration can be registered with, by path segment. */
export interface ProviderFacts {
  /** The prefix of the provider's field names, an alternative to the neutral `IDP`. */
  readonly prefix: string;
  /** Whether the registration must name the issuer, because the path segment does not determine it. */
  readonly needsIssuer: boolean;
  /** The scopes of a registration that names none: enough to identify the user. */
  readonly defaultScopes: readonly string[];
  /** Without these the provider does not identify the user (OpenID Connect Core 1.0, 3.1.2.1). */
  readonly requiredScopes: readonly string[];
}

const openIdConnect = { defaultScopes: ['openid', 'profile', 'email'], requiredScopes: ['openid'] };

export const identityProviders = {
  google: { prefix: 'GOOGLE', needsIssuer: false, ...openIdConnect },
  microsoft: { prefix: 'MICROSOFT', needsIssuer: false, ...openIdConnect },
  github: { prefix: 'GITHUB', needsIssuer: false, defaultScopes: ['read:user'], requiredScopes: [] },
  oidc: { prefix: 'OIDC', needsIssuer: true, ...openIdConnect },
} as const satisfies Record<string, ProviderFacts>;

export type ProviderName = keyof typeof identityProviders;
export const providerNames = Object.keys(identityProviders) as readonly ProviderName[];

export function isProviderName(text: string): text is ProviderName {
  return Object.hasOwn(identityProviders, text);
}

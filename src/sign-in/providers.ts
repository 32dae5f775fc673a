/** The identity providers that an integration can be registered with, by path segment. */
export interface ProviderFacts {
  /** Prefix of the provider's own field names, beside the neutral `IDP`. */
  readonly prefix: string;
  /** Whether the registration must name the issuer, because the segment alone does not. */
  readonly needsIssuer: boolean;
  /** What is asked for where the registration does not say it: enough to tell who signed in. */
  readonly defaultScopes: readonly string[];
  /** Without which the provider would not tell who signed in (OpenID Connect Core 1.0, 3.1.2.1). */
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

export function isProviderName(text: string): text is ProviderName {
  return Object.hasOwn(identityProviders, text);
}

/** The identity providers that an integration can be registered with, by path segment. */
export interface IdentityProvider {
  /** Prefix of the provider's own field names, beside the neutral `IDP`. */
  readonly prefix: string;
  /** Whether the registration must name the issuer, because the segment alone does not. */
  readonly needsIssuer: boolean;
}

export const identityProviders = {
  google: { prefix: 'GOOGLE', needsIssuer: false },
  microsoft: { prefix: 'MICROSOFT', needsIssuer: false },
  github: { prefix: 'GITHUB', needsIssuer: false },
  oidc: { prefix: 'OIDC', needsIssuer: true },
} as const satisfies Record<string, IdentityProvider>;

export type ProviderName = keyof typeof identityProviders;

export function isProviderName(text: string): text is ProviderName {
  return Object.hasOwn(identityProviders, text);
}

/** A sign-in integration, as `GET /v3/service/auth` returns it. */
export interface Integration {
  readonly provider: string;
  readonly name: string;
  readonly client_id: string;
  readonly issuer?: string;
  readonly redirect_uri: string;
  readonly sign_in_url: string;
  readonly return_urls: readonly string[];
  readonly scopes: readonly string[];
  /** Since when the console accepts this integration; null if it does not. */
  readonly console_approved_at: string | null;
}

/** The providers that the service knows. Only an integration of `oidc` names an issuer. */
export const providers = ['oidc', 'google', 'microsoft', 'github'] as const;

export function labelOf({ provider, name }: Pick<Integration, 'provider' | 'name'>): string {
  return `${provider}/${name}`;
}

/** The path of the integration, after the base path of the service. */
export function pathOf({ provider, name }: Pick<Integration, 'provider' | 'name'>): string {
  return `/v3/service/auth/${provider}/${encodeURIComponent(name)}`;
}

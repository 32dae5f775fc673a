import { type Static, Type } from 'typebox';
import { providerNames } from '../../sign-in/types.ts';
import { documentedAs, named } from '../response/described.ts';
import { nullable, strictObject, stringEnum, timestamp } from '../response/schemas.ts';

/** Request and response schemas of sign-in integrations. */

export const providerSchema = named(
  'IdentityProvider',
  stringEnum(providerNames, { description: 'The identity provider', examples: ['google'] }),
);

/** Path parameters of one integration. An unknown provider is 404. */
export const integrationParams = Type.Object({
  identity_provider: documentedAs(Type.String(), providerSchema),
  INTEGRATION_NAME: Type.String({
    description: 'The name of the integration: 1 to 63 lower-case letters, digits and hyphens',
    examples: ['shop'],
  }),
});

/** The integration that the path of a request names. */
export function integrationIn({ params }: { readonly params: Static<typeof integrationParams> }) {
  return { provider: params.identity_provider, name: params.INTEGRATION_NAME };
}

const uri = { format: 'uri' };
const url = Type.String(uri);
const credential = Type.Optional(Type.String({ minLength: 1 }));
/** The schema lists all names; the rules of a provider decide which of them it accepts. */
export const integrationBody = named(
  'IntegrationRequest',
  strictObject(
    {
      IDP_CLIENT_ID: credential,
      IDP_CLIENT_SECRET: credential,
      IDP_ISSUER: Type.Optional(
        Type.String({ minLength: 1, description: 'Required for oidc, rejected for other providers' }),
      ),
      GOOGLE_CLIENT_ID: credential,
      GOOGLE_CLIENT_SECRET: credential,
      MICROSOFT_CLIENT_ID: credential,
      MICROSOFT_CLIENT_SECRET: credential,
      GITHUB_CLIENT_ID: credential,
      GITHUB_CLIENT_SECRET: credential,
      OIDC_CLIENT_ID: credential,
      OIDC_CLIENT_SECRET: credential,
      OIDC_ISSUER: credential,
      return_urls: Type.Optional(
        Type.Array(Type.String(), {
          description:
            'URLs of apps on other origins that a browser may return to; they are compared exactly',
        }),
      ),
      scopes: Type.Optional(
        Type.Array(Type.String(), {
          description: 'The scopes requested from the provider instead of the default ones',
        }),
      ),
    },
    {
      description: 'IDP_CLIENT_ID and IDP_CLIENT_SECRET, or the same fields with the prefix of the provider',
      examples: [{ IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' }],
    },
  ),
);
export const registeredIntegration = named(
  'RegisteredIntegration',
  strictObject({
    compelete: Type.Literal(true, { description: 'Spelled as published' }),
    complete: Type.Literal(true),
    name: Type.String(),
    provider: providerSchema,
    client_id: Type.String(),
    redirect_uri: Type.String({ ...uri, description: 'Register this URL at the provider' }),
    sign_in_url: url,
    created_at: timestamp,
  }),
);
export const integrationState = named(
  'Integration',
  strictObject({
    name: Type.String(),
    provider: providerSchema,
    client_id: Type.String(),
    issuer: Type.Optional(Type.String()),
    return_urls: Type.Array(Type.String()),
    scopes: Type.Array(Type.String()),
    redirect_uri: Type.String({ ...uri, description: 'Register this URL at the provider' }),
    sign_in_url: url,
    created_at: timestamp,
    console_approved_at: nullable(timestamp, {
      description: 'Since when the console accepts its sign-ins; null if it does not',
    }),
  }),
);
export const approvalBody = named(
  'IntegrationApproval',
  strictObject(
    {
      client_id: Type.String({ minLength: 1, description: 'The client that you approve' }),
      issuer: Type.Optional(
        Type.String({ minLength: 1, description: 'Required if the integration names one' }),
      ),
    },
    { examples: [{ client_id: 'client-1' }] },
  ),
);
export const verifyQuery = strictObject({
  verify: Type.Optional(
    Type.Union([Type.Literal('true'), Type.Literal('false')], {
      description: 'Whether to load the metadata of the provider first; if that fails, nothing is written',
    }),
  ),
});
export const integrationListQuery = strictObject({
  after: Type.Optional(
    Type.String({
      pattern: '^[a-z]{1,20}/[a-z0-9-]{1,63}$',
      description: '`next` of the previous page',
    }),
  ),
});

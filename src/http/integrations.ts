import { Type } from 'typebox';
import { actorOf } from '../access/permission.ts';
import { type FieldsBesideError, success } from '../envelope.ts';
import type { Integrations } from '../sign-in/integrations.ts';
import { sendEnvelope } from './answer.ts';
import type { Routes } from './door.ts';
import { answerSchema, closed, errorAnswerSchema, noQuery } from './schemas.ts';

const params = Type.Object({
  identity_provider: Type.String({ description: 'google, microsoft, github or oidc' }),
  INTEGRATION_NAME: Type.String({ description: '1 to 63 lower-case letters, digits and hyphens' }),
});
const credential = Type.Optional(Type.String({ minLength: 1 }));
/** Which of these a provider takes is its own rule; the schema knows the names. */
const body = Type.Object(
  {
    IDP_CLIENT_ID: credential,
    IDP_CLIENT_SECRET: credential,
    IDP_ISSUER: Type.Optional(
      Type.String({ minLength: 1, description: 'Required for oidc, unknown elsewhere' }),
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
  },
  {
    ...closed,
    description: 'IDP_CLIENT_ID and IDP_CLIENT_SECRET, or the same with the prefix of the provider',
  },
);
const registered = Type.Object({
  compelete: Type.Literal(true, { description: 'Spelled as published' }),
  complete: Type.Literal(true),
  name: Type.String(),
  provider: Type.String(),
  client_id: Type.String(),
  redirect_uri: Type.String({ description: 'To be entered at the provider' }),
  sign_in_url: Type.String(),
  created_at: Type.String(),
});
const besideError: FieldsBesideError = () => ({ compelete: false });

/**
 * Register a sign-in integration (interface.md, 4.5).
 *
 * @param prefix in front of `/v3`
 * @param publicUrl the origin that browsers reach the service under
 */
export function integrationRoutes(integrations: Integrations, prefix: string, publicUrl: string): Routes {
  return (app) => {
    app.post(
      `${prefix}/v3/create/service/auth/:identity_provider/:INTEGRATION_NAME`,
      {
        config: { access: 'integrations:write', besideError },
        schema: {
          tags: ['Sign-in'],
          summary: 'Register a sign-in integration',
          params,
          querystring: noQuery,
          body,
          response: {
            200: answerSchema(registered, 'The integration is on disk, its secret sealed'),
            '4xx': errorAnswerSchema({ compelete: Type.Literal(false) }),
          },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        const asked = { by: actorOf(request.caller), requestId: request.id };
        const integration = await integrations.register(provider, name, request.body, asked);
        const url = `${publicUrl}${prefix}/v3/auth/${integration.provider}/${integration.name}`;
        return sendEnvelope(
          reply,
          success({
            compelete: true,
            complete: true,
            name: integration.name,
            provider: integration.provider,
            client_id: integration.clientId,
            redirect_uri: `${url}/callback`,
            sign_in_url: `${url}/sign-in`,
            created_at: integration.createdAt,
          }),
        );
      },
    );
  };
}

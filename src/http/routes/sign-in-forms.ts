import { Type } from 'typebox';
import { success } from '../../envelope.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { closed, errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import { takeForms } from '../server/forms.ts';
import type { App, Routes } from '../server/routes.ts';
import { integrationParams } from './provider-param.ts';

const tags = ['Sign-in'];

/** Routes that accept forms, as their specifications require: logout tokens, and tokens to revoke. */
export function formRoutes(signIn: SignIn): Routes {
  const path = `${signIn.prefix}/v3/auth/:identity_provider/:INTEGRATION_NAME`;
  return async (parent) => {
    await parent.register(async (scoped) => {
      const app = scoped as unknown as App;
      takeForms(app);
      app.post(
        `${path}/back-channel-logout`,
        {
          config: { access: 'public' },
          schema: {
            tags,
            operationId: 'receiveLogoutToken',
            summary: 'Receive a logout token from the provider (OpenID Connect Back-Channel Logout 1.0)',
            params: integrationParams,
            querystring: noQuery,
            consumes: ['application/x-www-form-urlencoded'],
            body: Type.Object({ logout_token: Type.String({ minLength: 1 }) }),
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Signed out') }, closed),
                'The user of the token is signed out',
              ),
              ...errorResponses(),
            },
          },
        },
        async (request, reply) => {
          const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
          await signIn.endByProvider({
            provider,
            name,
            token: request.body.logout_token,
            requestId: request.id,
          });
          return sendEnvelope(reply, success({ message: 'Signed out' }));
        },
      );

      app.post(
        `${path}/revoke`,
        {
          config: { access: 'public' },
          schema: {
            tags,
            operationId: 'revokeToken',
            summary: 'Revoke a refresh token (RFC 7009)',
            params: integrationParams,
            querystring: noQuery,
            consumes: ['application/x-www-form-urlencoded'],
            body: Type.Object({
              token: Type.String({ minLength: 1 }),
              token_type_hint: Type.Optional(Type.String()),
            }),
            response: {
              200: responseSchema(
                Type.Object({ message: Type.Literal('Token revoked') }, closed),
                'The token is not valid, whether or not it was valid before',
              ),
              ...errorResponses(),
            },
          },
        },
        async (request, reply) => {
          const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
          await signIn.revokeToken({ provider, name }, request.body.token);
          return sendEnvelope(reply, success({ message: 'Token revoked' }));
        },
      );
    });
  };
}

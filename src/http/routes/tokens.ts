import { Type } from 'typebox';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { named } from '../response/described.ts';
import { messageResponse, responseSchema, strictObject } from '../response/schemas.ts';
import { sendAs } from '../response/send.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { integrationIn, integrationParams as params } from './integration-schemas.ts';

/** How long apps may cache the JWK set. */
const publishedKeysCachedSeconds = 60 * 60;

type TokenIssuer = Pick<SignIn, 'grantTokens' | 'revokeToken' | 'endByProvider' | 'publishedKeys' | 'prefix'>;

/** What apps on other origins and providers call without a browser: tokens, their keys, and logout tokens. */
export function tokenRoutes(signIn: TokenIssuer): Routes {
  const path = `${signIn.prefix}/v3/auth/:identity_provider/:INTEGRATION_NAME`;
  return routeFamily('Sign-in', [
    operation('POST', `${path}/token`, 'public', {
      id: 'createTokens',
      summary: 'Exchange a one-time code, or a refresh token, for tokens',
      request: { params, body: tokenRequest },
      response: responseSchema(tokens, 'Tokens, not to be cached'),
      handle: async (request) => {
        const granted = await signIn.grantTokens(integrationIn(request), request.body);
        return {
          access_token: granted.accessToken,
          token_type: 'Bearer',
          expires_in: granted.expiresInSeconds,
          refresh_token: granted.refreshToken,
        };
      },
    }),

    operation('GET', `${signIn.prefix}/.well-known/jwks.json`, 'public', {
      id: 'listSigningKeys',
      summary: 'List the keys that verify access tokens',
      response: jwkSetResponse,
      handle: async (_request, reply) => {
        reply.header('cache-control', `public, max-age=${publishedKeysCachedSeconds}`);
        return sendAs(reply, jwkSetType, JSON.stringify({ keys: await signIn.publishedKeys() }));
      },
    }),

    operation('POST', `${path}/back-channel-logout`, 'public', {
      id: 'receiveLogoutToken',
      summary: 'Receive a logout token from the provider (OpenID Connect Back-Channel Logout 1.0)',
      request: {
        params,
        body: Type.Object({ logout_token: Type.String({ minLength: 1 }) }),
        bodyType: 'form',
      },
      response: messageResponse('Signed out', 'The user of the token is signed out'),
      handle: async (request) => {
        const { logout_token: token } = request.body;
        await signIn.endByProvider({ ...integrationIn(request), token, requestId: request.id });
        return { message: 'Signed out' };
      },
    }),

    operation('POST', `${path}/revoke`, 'public', {
      id: 'revokeToken',
      summary: 'Revoke a refresh token (RFC 7009)',
      request: {
        params,
        body: Type.Object({
          token: Type.String({ minLength: 1 }),
          token_type_hint: Type.Optional(Type.String()),
        }),
        bodyType: 'form',
      },
      response: messageResponse(
        'Token revoked',
        'The token is not valid, whether or not it was valid before',
      ),
      handle: async (request) => {
        await signIn.revokeToken(integrationIn(request), request.body.token);
        return { message: 'Token revoked' };
      },
    }),
  ]);
}

const field = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const tokenRequest = named(
  'TokenRequest',
  strictObject(
    {
      grant_type: Type.Union([Type.Literal('authorization_code'), Type.Literal('refresh_token')]),
      code: field('With authorization_code: the one-time code from the return URL, within 60 seconds'),
      code_verifier: field('With authorization_code: the verifier of code_challenge (RFC 7636)'),
      return_url: field('With authorization_code: the return URL of the sign-in'),
      refresh_token: field('With refresh_token: the last one that was returned; each can be used once'),
    },
    {
      examples: [
        {
          grant_type: 'authorization_code',
          code: 'a-code-from-the-return-url',
          code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
          return_url: 'https://app.example/signed-in',
        },
      ],
    },
  ),
);
const tokens = named(
  'Tokens',
  strictObject({
    access_token: Type.String({
      description: 'A JWT (RFC 9068); verify it with the keys of /.well-known/jwks.json',
    }),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Seconds until the access token expires' }),
    refresh_token: Type.String({ description: 'Can be used once, for the next access token' }),
  }),
);
/** A JWK set without the envelope: libraries read it as RFC 7517, section 5, defines it. */
const jwkSet = Type.Object(
  { keys: Type.Array(Type.Object({ kty: Type.String(), kid: Type.String() })) },
  { description: 'The keys that verify access tokens, without the envelope' },
);
/** RFC 7517, 8.5.2. */
const jwkSetType = 'application/jwk-set+json';
const jwkSetResponse = {
  description: 'The key that signs now, earlier keys and future keys',
  content: { [jwkSetType]: { schema: jwkSet } },
};

import { Type } from 'typebox';
import { success } from '../../envelope.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { publishedKeysCachedSeconds } from '../limits.ts';
import { named } from '../response/described.ts';
import { closed, errorResponses, noQuery, responseSchema } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import type { Routes } from '../server/routes.ts';
import { integrationParams } from './provider-param.ts';

const tags = ['Sign-in'];
const field = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const body = named(
  'TokenRequest',
  Type.Object(
    {
      grant_type: Type.Union([Type.Literal('authorization_code'), Type.Literal('refresh_token')]),
      code: field('With authorization_code: the one-time code from the return URL, within 60 seconds'),
      code_verifier: field('With authorization_code: the verifier of code_challenge (RFC 7636)'),
      return_url: field('With authorization_code: the return URL of the sign-in'),
      refresh_token: field('With refresh_token: the last one that was returned; each can be used once'),
    },
    {
      ...closed,
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
  Type.Object(
    {
      access_token: Type.String({
        description: 'A JWT (RFC 9068); verify it with the keys of /.well-known/jwks.json',
      }),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer({ description: 'Seconds until the access token expires' }),
      refresh_token: Type.String({ description: 'Can be used once, for the next access token' }),
    },
    closed,
  ),
);
/** A JWK set without the envelope: libraries read it as RFC 7517, section 5, defines it. */
const jwkSet = Type.Object(
  { keys: Type.Array(Type.Object({ kty: Type.String(), kid: Type.String() })) },
  { description: 'The keys that verify access tokens, without the envelope' },
);
/** The media type is from RFC 7517, 8.5.2. */
const jwkSetResponse = {
  description: 'The key that signs now, earlier keys and future keys',
  content: { 'application/jwk-set+json': { schema: jwkSet } },
};

/**
 * Tokens for apps on other origins, and the keys that verify the tokens.
 */
export function signInTokenRoutes(signIn: Pick<SignIn, 'grantTokens' | 'publishedKeys' | 'prefix'>): Routes {
  const { prefix } = signIn;
  return (app) => {
    app.post(
      `${prefix}/v3/auth/:identity_provider/:INTEGRATION_NAME/token`,
      {
        config: { access: 'public' },
        schema: {
          tags,
          operationId: 'createTokens',
          summary: 'Exchange a one-time code, or a refresh token, for tokens',
          params: integrationParams,
          querystring: noQuery,
          body,
          response: { 200: responseSchema(tokens, 'Tokens, not to be cached'), ...errorResponses() },
        },
      },
      async (request, reply) => {
        // RFC 6749, 5.1: an error response is for this caller only, too.
        reply.header('cache-control', 'no-store');
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        const granted = await signIn.grantTokens({ provider, name }, request.body);
        return sendEnvelope(
          reply,
          success({
            access_token: granted.accessToken,
            token_type: 'Bearer',
            expires_in: granted.expiresInSeconds,
            refresh_token: granted.refreshToken,
          }),
        );
      },
    );

    app.get(
      `${prefix}/.well-known/jwks.json`,
      {
        config: { access: 'public' },
        schema: {
          tags,
          operationId: 'listSigningKeys',
          summary: 'List the keys that verify access tokens',
          querystring: noQuery,
          response: { 200: jwkSetResponse, ...errorResponses() },
        },
      },
      async (_request, reply) => {
        const text = JSON.stringify({ keys: await signIn.publishedKeys() });
        return reply
          .header('content-type', 'application/jwk-set+json')
          .header('cache-control', `public, max-age=${publishedKeysCachedSeconds}`)
          .serializer((set: string) => set)
          .send(text);
      },
    );
  };
}

import { jwtVerify } from 'jose';
import { authorizationCodeGrant, buildAuthorizationUrl } from 'openid-client';
import { browserUrl, issuerUrl, type OidcOptions, ProviderMetadata } from './discovery.ts';
import { asFailure } from './failures.ts';
import { clockToleranceSeconds } from './limits.ts';
import { withUserinfo } from './profile.ts';
import { type IdentityProvider, pkceChallenge } from './provider.ts';
import { checkIdToken, provenIdentity, readLogout } from './token-claims.ts';

/** Any OpenID Connect provider with discovery, through openid-client and jose. */
export function oidcProvider(options: OidcOptions): IdentityProvider {
  const metadata = new ProviderMetadata(options);

  return {
    async discover(client) {
      await metadata.renew(client).catch(fail);
    },

    async begin(client, { state, nonce, codeVerifier }) {
      const { configuration } = await metadata.get(client).catch(fail);
      return buildAuthorizationUrl(configuration, {
        redirect_uri: client.redirectUri,
        scope: client.scopes.join(' '),
        state,
        nonce,
        code_challenge: pkceChallenge(codeVerifier),
        code_challenge_method: 'S256',
      });
    },

    async finish(client, parameters, { state, nonce, codeVerifier }) {
      try {
        const { configuration, keys, algorithms } = await metadata.get(client);
        const callback = new URL(client.redirectUri);
        callback.search = parameters.toString();
        const tokens = await authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const idToken = tokens.id_token as string;
        // The library relies on TLS in place of the signature; here the signature is always verified.
        const { payload, protectedHeader } = await jwtVerify(idToken, keys, {
          algorithms: [...algorithms],
          audience: client.clientId,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['iss', 'sub', 'exp', 'iat'],
        });
        const code = parameters.get('code') ?? '';
        checkIdToken(payload, protectedHeader, { accessToken: tokens.access_token, code });
        const identity = provenIdentity(payload, client);
        return await withUserinfo(identity, client.scopes, {
          configuration,
          accessToken: tokens.access_token,
        });
      } catch (error) {
        return fail(error);
      }
    },

    async signOutUrl(client, returnUrl) {
      const { configuration } = await metadata.get(client).catch(fail);
      const { end_session_endpoint: endpoint } = configuration.serverMetadata();
      const url = browserUrl(endpoint, issuerUrl(client, options), options.isNamed);
      if (url === undefined || url.username !== '' || url.password !== '') return undefined;
      url.searchParams.set('client_id', client.clientId);
      url.searchParams.set('post_logout_redirect_uri', returnUrl);
      return url;
    },

    async readLogoutToken(client, token) {
      try {
        const { configuration, keys, algorithms } = await metadata.get(client);
        const { payload, protectedHeader } = await jwtVerify(token, keys, {
          algorithms: [...algorithms],
          issuer: configuration.serverMetadata().issuer,
          audience: client.clientId,
          clockTolerance: clockToleranceSeconds,
          requiredClaims: ['iss', 'aud', 'iat', 'exp', 'jti', 'events'],
        });
        return readLogout(payload, protectedHeader.typ);
      } catch (error) {
        return fail(error);
      }
    },
  };
}

function fail(error: unknown): never {
  throw asFailure(error);
}

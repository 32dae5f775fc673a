import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { againUrl, beginSignIn } from '../../sign-in/begin-sign-in.ts';
import type { SignInContext } from '../../sign-in/context.ts';
import { finishSignIn } from '../../sign-in/finish-sign-in.ts';
import { sessionMsMax, signInMsMax } from '../../sign-in/limits.ts';
import type { SignInRequest } from '../../sign-in/pending-sign-ins.ts';
import { isProviderName } from '../../sign-in/providers.ts';
import { SignInRefusal } from '../../sign-in/refusal.ts';
import { signInCookiesBytesMax, signInsPerBrowserMax } from '../limits.ts';
import { Cookies } from '../response/cookies.ts';
import { closed } from '../response/schemas.ts';
import {
  htmlPage,
  privateHeaders,
  sendPage,
  sendRefusalPage,
  signedInPage,
} from '../response/sign-in-page.ts';
import { asServiceError, logFailure } from '../server/error-handler.ts';
import type { Routes } from '../server/routes.ts';

export const sessionCookie = 'counterfoil-session';
const signInCookie = 'counterfoil-sign-in-';

const tags = ['Sign-in'];
const params = Type.Object({
  identity_provider: Type.String({ description: 'google, microsoft, github or oidc' }),
  INTEGRATION_NAME: Type.String({ description: 'As registered' }),
});
const signInQuery = Type.Object(
  {
    return_to: Type.Optional(
      Type.String({ description: 'A path on this origin, or a registered return URL, to the character' }),
    ),
    code_challenge: Type.Optional(
      Type.String({ description: 'For an app on another origin, which is handed a code (RFC 7636)' }),
    ),
    code_challenge_method: Type.Optional(Type.String({ description: 'S256' })),
  },
  closed,
);
const page = { ...htmlPage, description: 'A page for the person who signs in' };
const response = {
  303: Type.Null({ description: 'Goes on at Location' }),
  '4xx': page,
  '5xx': page,
};
const signedInAlready = { ...page, description: 'A page that says that this sign-in is complete' };

/** What a refused request is known to belong to. */
declare module 'fastify' {
  interface FastifyRequest {
    signInOrder?: SignInRequest;
  }
}

/**
 * The two steps of a sign-in that a browser takes: to the provider, and back. Both answer with a redirect, or with a
 * page that says what happened.
 *
 * @param count counts a sign-in that is begun, and throws where it is one too many
 */
export function signInRoutes(context: SignInContext, count: (request: FastifyRequest) => void): Routes {
  const cookies = new Cookies(context.origin);
  const path = `${context.prefix}/v3/auth/:identity_provider/:INTEGRATION_NAME`;
  // A HEAD would begin a sign-in, or use one up.
  const route = { exposeHeadRoute: false, config: { access: 'public' } } as const;
  const tell = (provider: string, outcome: string) =>
    context.metrics?.signIn(isProviderName(provider) ? provider : 'none', outcome);
  const errorHandler = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const error = asServiceError(thrown);
    logFailure(context.log, error, request, reply);
    const { identity_provider: provider = '', INTEGRATION_NAME: name = '' } = request.params as Params;
    tell(provider, error instanceof SignInRefusal ? error.reason : error.code);
    const again = error.code.endsWith('_not_found')
      ? undefined
      : againUrl(context, { provider, name }, request.signInOrder);
    return sendRefusalPage(reply, { error, requestId: request.id, againUrl: again });
  };

  return (app) => {
    app.get(
      `${path}/sign-in`,
      {
        ...route,
        errorHandler,
        schema: { tags, summary: 'Begin to sign in', params, querystring: signInQuery, response },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        count(request);
        const begun = await beginSignIn(context, {
          provider,
          name,
          returnTo: request.query.return_to,
          codeChallenge: request.query.code_challenge,
          codeChallengeMethod: request.query.code_challenge_method,
        });
        const [cookie, suffix] = [begun.cookie, begun.cookieSuffix];
        for (const old of tooMany(cookies.startingWith(request.headers.cookie, signInCookie), cookie.length))
          cookies.clear(reply, old);
        cookies.set(reply, signInCookie + suffix, cookie, signInMsMax);
        tell(provider, 'begun');
        return redirect(reply, begun.authorizationUrl);
      },
    );

    app.get(
      `${path}/callback`,
      {
        ...route,
        errorHandler,
        schema: {
          tags,
          summary: 'Come back from the provider',
          params,
          response: { 200: signedInAlready, ...response },
        },
      },
      async (request, reply) => {
        const { identity_provider: provider, INTEGRATION_NAME: name } = request.params;
        const { cookie } = request.headers;
        const finished = await finishSignIn(context, {
          provider,
          name,
          parameters: queryOf(request.url),
          cookieOf: (suffix) => {
            const value = cookies.read(cookie, signInCookie + suffix);
            if (value !== undefined) cookies.clear(reply, signInCookie + suffix);
            return value;
          },
          sessionCookie: cookies.read(cookie, sessionCookie),
          requestId: request.id,
          onFound: (order) => {
            request.signInOrder = order;
          },
        });
        if (finished === undefined) return sendPage(reply, signedInPage);
        cookies.set(reply, sessionCookie, finished.cookie, sessionMsMax);
        tell(provider, 'finished');
        return redirect(reply, finished.location);
      },
    );
  };
}

/** The oldest of the open sign-ins, that a new one of so many characters has room. */
function tooMany(open: readonly (readonly [name: string, value: string])[], characters: number): string[] {
  let [left, bytes] = [open.length, characters + open.reduce((sum, [, value]) => sum + value.length, 0)];
  const names: string[] = [];
  for (const [name, value] of open) {
    if (left < signInsPerBrowserMax && bytes <= signInCookiesBytesMax) break;
    names.push(name);
    left--;
    bytes -= value.length;
  }
  return names;
}

interface Params {
  readonly identity_provider?: string;
  readonly INTEGRATION_NAME?: string;
}

function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start));
}

/** 303: whatever the browser came by, it goes on by GET (RFC 9110, 15.4.4). */
function redirect(reply: FastifyReply, location: string): FastifyReply {
  return reply
    .code(303)
    .headers({ ...privateHeaders, location })
    .send();
}

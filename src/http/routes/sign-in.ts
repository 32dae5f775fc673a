import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Log } from '../../log.ts';
import { consoleProofMs, sessionMsMax, signInMsMax } from '../../sign-in/limits.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import type { BegunSignIn, SignInRequest } from '../../sign-in/types.ts';
import { Cookies, cookieNameAt } from '../response/cookies.ts';
import { htmlPage, privateHeaders, sendErrorPage, sendHtml, signedInPage } from '../response/page.ts';
import { strictObject } from '../response/schemas.ts';
import type { ConsoleCookies } from '../server/console-caller.ts';
import { asServiceError, logFailure } from '../server/error-handler.ts';
import { requestHeaderBytesMax } from '../server/listener.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { integrationIn, integrationParams } from './integration-schemas.ts';

/** The state of an app in a sign-in link. A cookie holds it; 256 random bits take 43 characters. */
const appStateCharactersMax = 200;
/** Sign-ins that one browser may have open, in as many tabs; each has its cookie. */
const signInsPerBrowserMax = 10;
/** All of these cookies together: half of the limit for all headers. */
const signInCookiesBytesMax = requestHeaderBytesMax / 2;

/** The sign-in that a rejected request belongs to. */
declare module 'fastify' {
  interface FastifyRequest {
    signInRequest?: SignInRequest;
  }
}

/**
 * The two steps of a sign-in in the browser: to the provider, and back. Both respond with a redirect, or with a page that
 * shows the result.
 *
 * @param log for the errors that end on a page
 * @param count counts the start of a sign-in, and throws if there are too many
 * @param consoleCookies undefined if the service serves no console
 */
export function signInRoutes(
  signIn: SignIn,
  log: Log,
  count: (request: FastifyRequest) => void,
  consoleCookies: ConsoleCookies | undefined,
): Routes {
  const cookies = new Cookies(signIn.origin);
  const sessionCookie = sessionCookieAt(signIn.origin);
  const signInCookie = signInCookieAt(signIn.origin);
  const path = `${signIn.prefix}/v3/auth/:identity_provider/:INTEGRATION_NAME`;
  // A HEAD request would start a sign-in or complete one.
  const options = { exposeHeadRoute: false, errorHandler: sendFailure };
  function sendFailure(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const error = asServiceError(thrown);
    logFailure(log, error, request, reply);
    const { identity_provider: provider = '', INTEGRATION_NAME: name = '' } = request.params as Params;
    signIn.noteFailure(provider, error);
    const againUrl = error.code.endsWith('_not_found')
      ? undefined
      : signIn.againUrl({ provider, name }, request.signInRequest);
    return sendErrorPage(reply, { error, requestId: request.id, againUrl });
  }

  return routeFamily('Sign-in', [
    operation('GET', `${path}/sign-in`, 'public', {
      id: 'startSignIn',
      summary: 'Start a sign-in',
      options,
      request: { params: integrationParams, query: signInQuery },
      otherResponses: responses,
      handle: async (request, reply) => {
        count(request);
        const begun = await signIn.begin({
          ...integrationIn(request),
          returnTo: request.query.return_to,
          codeChallenge: request.query.code_challenge,
          codeChallengeMethod: request.query.code_challenge_method,
          state: request.query.state,
        });
        keepSignIn(signIn.origin, reply, begun);
        return redirect(reply, begun.authorizationUrl);
      },
    }),

    operation('GET', `${path}/callback`, 'public', {
      id: 'completeSignIn',
      summary: 'Complete a sign-in after the provider',
      options,
      request: { params: integrationParams, query: 'any' },
      response: { ...page, description: 'A page for a sign-in that is already complete' },
      otherResponses: responses,
      handle: async (request, reply) => {
        const { cookie } = request.headers;
        const finished = await signIn.finish({
          ...integrationIn(request),
          parameters: parseQuery(request.url),
          cookieOf: (suffix) => {
            const value = cookies.read(cookie, signInCookie + suffix);
            if (value !== undefined) cookies.clear(reply, signInCookie + suffix);
            return value;
          },
          sessionCookie: cookies.read(cookie, sessionCookie),
          requestId: request.id,
          onFound: (begun) => {
            request.signInRequest = begun;
          },
        });
        if (finished === undefined) return sendHtml(reply, signedInPage);
        if (finished.isForConsole) consoleCookies?.set(reply, 'proof', finished.cookie, consoleProofMs);
        else cookies.set(reply, sessionCookie, finished.cookie, sessionMsMax);
        return redirect(reply, finished.location);
      },
    }),
  ]);
}

const signInQuery = strictObject({
  return_to: Type.Optional(
    Type.String({ description: 'A path on this origin, or exactly a registered return URL' }),
  ),
  code_challenge: Type.Optional(
    Type.String({ description: 'Required for an app on another origin, which receives a code (RFC 7636)' }),
  ),
  code_challenge_method: Type.Optional(Type.String({ description: 'S256' })),
  state: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: appStateCharactersMax,
      pattern: '^[!-~]+$',
      description:
        'For an app on another origin: it receives the state beside the code, unchanged (RFC 6749, 4.1.1)',
    }),
  ),
});
const page = { ...htmlPage, description: 'A page for the person who signs in' };
const responses = {
  303: Type.Null({ description: 'Redirects to Location' }),
  '4xx': page,
  '5xx': page,
};

/** The cookie of a session, for the service at an origin. */
export function sessionCookieAt(origin: string): string {
  return cookieNameAt(origin, 'counterfoil-session');
}

/** The start of the names of the cookies of begun sign-ins, one for each. */
function signInCookieAt(origin: string): string {
  return `${cookieNameAt(origin, 'counterfoil-sign-in')}-`;
}

/** Stores a begun sign-in in the browser, and drops the oldest ones if there are too many. */
export function keepSignIn(origin: string, reply: FastifyReply, { cookie, cookieSuffix }: BegunSignIn): void {
  const cookies = new Cookies(origin);
  const signInCookie = signInCookieAt(origin);
  const open = cookies.startingWith(reply.request.headers.cookie, signInCookie);
  for (const old of tooMany(open, cookie.length)) cookies.clear(reply, old);
  cookies.set(reply, signInCookie + cookieSuffix, cookie, signInMsMax);
}

/** The names of the oldest cookies, which must go so that a new one of this length fits. */
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

function parseQuery(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start));
}

/** 303: the browser continues with GET, whatever its method was (RFC 9110, 15.4.4). */
function redirect(reply: FastifyReply, location: string): FastifyReply {
  return reply
    .code(303)
    .headers({ ...privateHeaders, location })
    .send();
}

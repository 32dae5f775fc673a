import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { defined } from '../../defined.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { SignIn } from '../../sign-in/sign-in.ts';
import { type Session, sessionEnd } from '../../sign-in/types.ts';
import { Cookies } from '../response/cookies.ts';
import { named } from '../response/described.ts';
import { htmlPage, privateHeaders, sendHtml, signedOutPage } from '../response/page.ts';
import { responseSchema, strictObject, timestamp } from '../response/schemas.ts';
import { sendText } from '../response/send.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { providerSchema } from './integration-schemas.ts';
import { sessionCookieAt } from './sign-in.ts';

/** The session of this browser: retrieve it, and sign out. */
export function sessionRoutes(signIn: SignIn): Routes {
  const { prefix, origin } = signIn;
  const cookies = new Cookies(origin);
  const sessionCookie = sessionCookieAt(origin);
  return routeFamily('Sign-in', [
    operation('GET', `${prefix}/v3/auth/session`, 'public', {
      id: 'getCurrentSession',
      summary: 'Retrieve the session of this browser',
      response: responseSchema(sessionState, 'The signed-in user and the session'),
      handle: async ({ headers: { cookie } }, reply) => {
        const session = await signIn.currentSession(cookies.read(cookie, sessionCookie));
        reply.headers(privateHeaders);
        // A page asks on every visit: a visitor without a cookie has not signed in, which is routine.
        if (session === undefined) throw notSignedIn({ isRoutine: !cookies.has(cookie, sessionCookie) });
        return sendText(reply, 200, responseText(session));
      },
    }),

    operation('POST', `${prefix}/v3/auth/sign-out`, 'public', {
      id: 'signOut',
      summary: 'Sign out, here or everywhere',
      options: {
        onRequest: (request, _reply, done) => {
          rejectForeignPage(request, origin);
          // Sign-out needs no body, and an empty body is not JSON.
          if (request.headers['content-length'] === '0') delete request.headers['content-type'];
          done();
        },
      },
      request: { body: signOutBody, isBodyOptional: true },
      response: responseSchema(signedOut, 'The session has ended, and that is on disk'),
      responseHeaders: privateHeaders,
      handle: async ({ headers, body, id }, reply) => {
        const cookie = cookies.read(headers.cookie, sessionCookie);
        const isEverywhere = body.everywhere === true;
        const ended = await signIn.end(cookie, { isEverywhere, requestId: id });
        // Only a session identifies the user.
        if (ended === undefined && isEverywhere) throw notSignedIn();
        cookies.clear(reply, sessionCookie);
        return { message: 'Signed out', ...defined({ sign_out_url: ended?.providerUrl }) };
      },
    }),

    operation('GET', `${prefix}/v3/auth/signed-out`, 'public', {
      id: 'showSignedOut',
      summary: 'Show that the sign-out at the provider is complete',
      request: { query: 'any' },
      response: { ...htmlPage, description: 'A page for the person who signed out' },
      handle: (_request, reply) => sendHtml(reply, signedOutPage),
    }),
  ]);
}

const sessionState = named(
  'CurrentSession',
  strictObject({
    issuer: Type.String(),
    subject: Type.String({
      description: 'Identifies the user together with the issuer; an e-mail address does not',
    }),
    provider: providerSchema,
    integration: Type.String(),
    name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String()),
    email_verified: Type.Optional(Type.Boolean()),
    picture: Type.Optional(Type.String()),
    session: strictObject({ id: Type.String(), created_at: timestamp, expires_at: timestamp }),
  }),
);
const signedOut = strictObject({
  message: Type.Literal('Signed out'),
  sign_out_url: Type.Optional(
    Type.String({ description: 'Open this URL in the browser to sign out of the identity provider too' }),
  ),
});
const signOutBody = named(
  'SignOutRequest',
  strictObject(
    {
      everywhere: Type.Optional(
        Type.Boolean({ description: 'Whether to end all sessions of the user, in every browser and app' }),
      ),
    },
    { examples: [{ everywhere: false }] },
  ),
);

/**
 * Rejects requests from pages of other origins: they cannot send JSON without a preflight, and browsers send the origin of a
 * request (OWASP, Cross-Site Request Forgery Prevention; Fetch Metadata). SameSite also withholds the cookie.
 */
function rejectForeignPage({ headers }: FastifyRequest, ownOrigin: string): void {
  const type = headers['content-type'] ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new ServiceError('unsupported_media_type', { param: 'Content-Type' });
  }
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  const isForeign = origin !== undefined && origin !== ownOrigin;
  if (isForeign || (site !== undefined && site !== 'same-origin')) {
    throw new ServiceError('forbidden', {
      param: isForeign ? 'Origin' : 'Sec-Fetch-Site',
      message: 'Only a page of this origin can sign out.',
    });
  }
}

/** @param isRoutine whether nothing is wrong with the request */
function notSignedIn({ isRoutine = false } = {}): ServiceError {
  return new ServiceError('unauthenticated', {
    isRoutine,
    message: 'Nobody is signed in in this browser. Go to the sign_in_url of an integration.',
  });
}

/** Response texts, cached by session. */
const texts = new WeakMap<Session, string>();

function responseText(session: Session): string {
  const cached = texts.get(session);
  if (cached !== undefined) return cached;
  const text = JSON.stringify(success(shown(session)));
  texts.set(session, text);
  return text;
}

function shown(session: Session) {
  const { id, identity, createdAt } = session;
  const { emailVerified, ...rest } = identity;
  return {
    ...rest,
    ...defined({ email_verified: emailVerified }),
    session: {
      id,
      created_at: new Date(createdAt).toISOString(),
      expires_at: new Date(sessionEnd(session)).toISOString(),
    },
  };
}

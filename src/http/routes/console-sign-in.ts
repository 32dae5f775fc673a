import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Administrators } from '../../access/console/administrators.ts';
import { consoleSessionMsMax } from '../../access/console/console-session.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import { returnUrlCharactersMax } from '../../sign-in/limits.ts';
import type { ConsoleSignIns, SignIn } from '../../sign-in/sign-in.ts';
import { closed, emptyWhenAbsent, noBody, noQuery } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import { privateHeaders } from '../response/sign-in-page.ts';
import type { Authorizer } from '../server/authorize.ts';
import type { ConsoleCallers } from '../server/console-caller.ts';
import type { Routes } from '../server/routes.ts';
import { type ConsoleFacts, sendSession } from './console-session.ts';
import { keepSignIn } from './sign-in.ts';

interface ConsoleSignInContext {
  readonly callers: ConsoleCallers;
  readonly counts: Pick<Authorizer, 'takeConsoleSignIn' | 'takeSignIn'>;
  readonly administrators: Pick<Administrators, 'registrations'>;
  readonly signIns: Pick<ConsoleSignIns, 'findProven' | 'approvals'>;
  readonly signIn: Pick<SignIn, 'begin' | 'origin' | 'now'>;
  readonly facts: ConsoleFacts;
}

const path = '/console/sign-in';
/** The view of the console that the browser returns to. It exchanges the proof for a session, then shows another view. */
const landing = '/console/signed-in';
const config = { access: 'public' } as const;
const beginBody = Type.Object(
  {
    provider: Type.String({ maxLength: 100 }),
    name: Type.String({ maxLength: 100 }),
    /** Where to go afterwards; the page checks it. */
    view: Type.String({ maxLength: returnUrlCharactersMax }),
  },
  closed,
);

/**
 * How a named administrator signs in to the console: its page asks which integrations there are, begins a sign-in with one of
 * them, and after the provider exchanges the proof for a session. Only the page can do each of these, so that no other site signs
 * somebody in. For the page alone, as the session (`console-session.ts`) is.
 */
export function consoleSignInRoutes(context: ConsoleSignInContext): Routes {
  const { callers, counts, administrators, signIns, signIn, facts } = context;
  const { sessions, cookies } = callers;
  return (app) => {
    app.get(path, { config, schema: { hide: true, querystring: noQuery } }, async (request, reply) => {
      callers.checkOwnPage(request);
      // Integrations are for the users of the app; the console offers those that an administrator could use.
      const offered = await signIns.approvals.accepted(await administrators.registrations());
      const shown = offered.map(({ integration }) => {
        const [provider, name] = integration.split('/');
        return { provider, name };
      });
      return sendEnvelope(reply.headers(privateHeaders), success({ integrations: shown }));
    });

    app.post(
      path,
      { config, schema: { hide: true, querystring: noQuery, body: beginBody } },
      async (request, reply) => {
        callers.checkOwnPage(request);
        callers.checkTransport(request);
        checkOrigin(request, signIn.origin);
        counts.takeSignIn(request, signIn.now());
        const { provider, name, view } = request.body;
        const begun = await signIn.begin({
          provider,
          name,
          returnTo: landingFor(view),
          isForConsole: true,
        });
        keepSignIn(signIn.origin, reply, begun);
        const next = { authorization_url: begun.authorizationUrl };
        return sendEnvelope(reply.headers(privateHeaders), success(next));
      },
    );

    app.post(
      `${path}/session`,
      {
        config,
        preValidation: emptyWhenAbsent,
        schema: { hide: true, querystring: noQuery, body: noBody },
      },
      async (request, reply) => {
        callers.checkOwnPage(request);
        callers.checkTransport(request);
        counts.takeConsoleSignIn(request);
        const proven = await signIns.findProven(cookies.read(request, 'proof'));
        cookies.clear(reply, 'proof');
        if (proven === undefined) throw noProof;
        const session = await sessions.signInAs(proven, cookies.read(request, 'session'), request.id);
        cookies.set(reply, 'session', session.cookie, consoleSessionMsMax);
        return sendSession(reply, session, facts);
      },
    );
  };
}

/** The provider sends the browser to the one origin that it knows, where this one's cookies do not exist. */
function checkOrigin({ headers }: FastifyRequest, origin: string): void {
  if (headers.origin === origin) return;
  throw new ServiceError('forbidden', {
    param: 'Origin',
    message: `To sign in with a provider, open the console at ${origin}/console.`,
  });
}

function landingFor(view: string): string {
  const withView = `${landing}?${new URLSearchParams({ view })}`;
  return withView.length > returnUrlCharactersMax ? landing : withView;
}

const noProof = new ServiceError('unauthenticated', {
  message: 'This sign-in to the console is over. Sign in again.',
});

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Administrators } from '../../access/console/administrators.ts';
import {
  type ConsoleSession,
  consoleSessionMsMax,
  type OpenedConsoleSession,
} from '../../access/console/console-session.ts';
import { currencyCodes, currencyExponent } from '../../currencies.ts';
import { ServiceError } from '../../errors.ts';
import type { RoutePolicy } from '../../payments/types.ts';
import { returnUrlCharactersMax } from '../../sign-in/limits.ts';
import type { ConsoleSignIns, SignIn } from '../../sign-in/sign-in.ts';
import { privateHeaders as responseHeaders } from '../response/page.ts';
import { noBody, strictObject } from '../response/schemas.ts';
import type { Authorizer } from '../server/authorize.ts';
import type { ConsoleCallers } from '../server/console-caller.ts';
import { operation, type Routes, routeFamily } from '../server/operation.ts';
import { keepSignIn } from './sign-in.ts';

/** What the console needs to know of the service and no other operation returns. */
export interface ConsoleFacts {
  readonly version: string;
  /** The paths in front of `/v3` and `/stage`. */
  readonly basePath: string;
  /** Who may make a table. */
  readonly tablePolicy: 'open' | 'declared';
  /** Undefined if payments have a listener of their own, which a page of this one cannot call. */
  readonly payments:
    | {
        readonly basePath: string;
        readonly processors: readonly string[];
        readonly routes: ReadonlyMap<string, RoutePolicy>;
      }
    | undefined;
}

interface ConsoleContext {
  readonly callers: ConsoleCallers;
  readonly counts: Pick<Authorizer, 'takeConsoleSignIn' | 'takeSignIn'>;
  /** Whether programs on this machine need no key. */
  readonly isOpen: () => boolean;
  readonly administrators: Pick<Administrators, 'registrations'>;
  readonly signIns: Pick<ConsoleSignIns, 'findProven' | 'approvals'>;
  readonly signIn: Pick<SignIn, 'begin' | 'origin' | 'now'>;
  readonly facts: ConsoleFacts;
}

/**
 * The session of the console: begin one with a key or as a named administrator, retrieve it, end it. The OpenAPI document leaves
 * these operations out: they are for the console's own page, and programs have keys.
 *
 * To sign in an administrator, the page asks which integrations there are, begins a sign-in with one of them, and after the
 * provider exchanges the proof for a session. Only the page can do each of these, so that no other site signs somebody in.
 */
export function consoleSessionRoutes(context: ConsoleContext): Routes {
  const { callers, counts, isOpen, administrators, signIns, signIn, facts } = context;
  const { sessions, cookies } = callers;
  const path = '/console/session';
  const signInPath = '/console/sign-in';
  const beginSession = (reply: FastifyReply, session: OpenedConsoleSession) => {
    cookies.set(reply, 'session', session.cookie, consoleSessionMsMax);
    return describeSession(session, facts);
  };
  return routeFamily('Console', [
    operation('GET', path, 'public', {
      responseHeaders,
      handle: async (request) => {
        callers.checkOwnPage(request);
        if (isOpen()) return describeSession(undefined, facts);
        const session = await sessions.findFresh(cookies.read(request, 'session'));
        // A page asks when it is opened, which is routine.
        if (session === undefined) throw signedOut;
        return describeSession(session, facts);
      },
    }),

    operation('POST', path, 'public', {
      request: { body: keyBody },
      responseHeaders,
      handle: async (request, reply) => {
        callers.checkOwnPage(request);
        callers.checkTransport(request);
        counts.takeConsoleSignIn(request);
        const before = cookies.read(request, 'session');
        return beginSession(reply, await sessions.signIn(request.body.key, before, request.id));
      },
    }),

    operation('DELETE', path, 'public', {
      request: { body: noBody, isBodyOptional: true },
      responseHeaders,
      handle: async (request, reply) => {
        const cookie = cookies.read(request, 'session');
        // Throws unless the page has the token: another page must not be able to end the session.
        await sessions.findFresh(cookie);
        await callers.authenticate(request);
        if (cookie !== undefined) await sessions.signOut(cookie, request.id);
        cookies.clear(reply, 'session');
        return { message: 'Signed out' };
      },
    }),

    operation('GET', signInPath, 'public', {
      responseHeaders,
      handle: async (request) => {
        callers.checkOwnPage(request);
        // Not all integrations: only those that an administrator could use.
        const offered = await signIns.approvals.accepted(await administrators.registrations());
        const integrations = offered.map(({ integration }) => {
          const [provider, name] = integration.split('/');
          return { provider, name };
        });
        return { integrations };
      },
    }),

    operation('POST', signInPath, 'public', {
      request: { body: beginBody },
      responseHeaders,
      handle: async (request, reply) => {
        callers.checkOwnPage(request);
        callers.checkTransport(request);
        checkOrigin(request, signIn.origin);
        counts.takeSignIn(request, signIn.now());
        const { provider, name, view } = request.body;
        const returnTo = landingFor(view);
        const begun = await signIn.begin({ provider, name, returnTo, isForConsole: true });
        keepSignIn(signIn.origin, reply, begun);
        return { authorization_url: begun.authorizationUrl };
      },
    }),

    operation('POST', `${signInPath}/session`, 'public', {
      request: { body: noBody, isBodyOptional: true },
      responseHeaders,
      handle: async (request, reply) => {
        callers.checkOwnPage(request);
        callers.checkTransport(request);
        counts.takeConsoleSignIn(request);
        const proven = await signIns.findProven(cookies.read(request, 'proof'));
        cookies.clear(reply, 'proof');
        if (proven === undefined) throw noProof;
        const before = cookies.read(request, 'session');
        return beginSession(reply, await sessions.signInAs(proven, before, request.id));
      },
    }),
  ]);
}

const keyBody = strictObject({ key: Type.String({ minLength: 1, maxLength: 200 }) });
const beginBody = strictObject({
  provider: Type.String({ maxLength: 100 }),
  name: Type.String({ maxLength: 100 }),
  /** Where to go afterwards; the page checks it. */
  view: Type.String({ maxLength: returnUrlCharactersMax }),
});

/** The view of the console that the browser returns to. It exchanges the proof for a session, then shows another view. */
const landing = '/console/signed-in';

/** The provider returns the browser to the registered origin, where the cookies of another origin do not exist. */
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

const signedOut = new ServiceError('unauthenticated', {
  isRoutine: true,
  message: 'Nobody is signed in to the console in this browser.',
});

/** Decimal places of the currencies that do not have two. Browsers know others for some currencies. */
const unusualDecimals = Object.fromEntries(
  currencyCodes
    .map((code) => [code, currencyExponent(code)] as const)
    .filter(([, decimals]) => decimals !== 2),
);

/** @param session undefined on a service without keys, where every caller may do everything */
function describeSession(
  session: ConsoleSession | undefined,
  { version, basePath, tablePolicy, payments }: ConsoleFacts,
) {
  const { rights, id, name = null, administrator } = session?.caller ?? {};
  const mode = administrator === undefined ? 'key' : 'administrator';
  return {
    mode: session === undefined ? 'open' : mode,
    key: session === undefined || mode !== 'key' ? null : { id, name },
    administrator: administrator === undefined ? null : { name, ...administrator },
    scopes: rights?.scopes ?? ['admin'],
    tables: rights?.tables ?? null,
    routes: rights?.routes ?? null,
    token: session?.token ?? null,
    expires_at: session === undefined ? null : new Date(session.expiresAt).toISOString(),
    version,
    base_path: basePath,
    table_policy: tablePolicy,
    payments:
      payments === undefined
        ? null
        : {
            base_path: payments.basePath,
            processors: payments.processors,
            decimals: unusualDecimals,
            routes: Object.fromEntries([...payments.routes].map(([name, { unit }]) => [name, { unit }])),
          },
  };
}

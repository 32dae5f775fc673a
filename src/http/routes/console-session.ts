import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import type { ConsoleSession } from '../../access/console/console-session.ts';
import { consoleSessionMsMax } from '../../access/console/console-session.ts';
import { currencyCodes, currencyExponent } from '../../currencies.ts';
import { success } from '../../envelope.ts';
import { ServiceError } from '../../errors.ts';
import type { RoutePolicy } from '../../payments/types.ts';
import { closed, emptyWhenAbsent, noBody, noQuery } from '../response/schemas.ts';
import { sendEnvelope } from '../response/send.ts';
import { privateHeaders } from '../response/sign-in-page.ts';
import type { Authorizer } from '../server/authorize.ts';
import type { ConsoleCallers } from '../server/console-caller.ts';
import type { Routes } from '../server/routes.ts';

/** What the console must know of the service, because no operation returns it. */
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
  readonly counts: Pick<Authorizer, 'takeConsoleSignIn'>;
  /** Whether programs on this machine need no key. */
  readonly isOpen: () => boolean;
  readonly facts: ConsoleFacts;
}

const path = '/console/session';
const config = { access: 'public' } as const;
const signInBody = Type.Object({ key: Type.String({ minLength: 1, maxLength: 200 }) }, closed);

/**
 * The session of the console: exchange a key for one, retrieve it, end it. The OpenAPI document does not have these: they are
 * for the console's own page, and every program has a key.
 */
export function consoleSessionRoutes({ callers, counts, isOpen, facts }: ConsoleContext): Routes {
  const { sessions, cookies } = callers;
  const send = (reply: FastifyReply, session: ConsoleSession | undefined) =>
    sendSession(reply, session, facts);
  return (app) => {
    app.get(path, { config, schema: { hide: true, querystring: noQuery } }, async (request, reply) => {
      callers.checkOwnPage(request);
      if (isOpen()) return send(reply, undefined);
      const session = await sessions.findFresh(cookies.read(request, 'session'));
      // A page asks when it is opened; nothing is wrong with that.
      if (session === undefined) throw signedOut;
      return send(reply, session);
    });

    app.post(
      path,
      { config, schema: { hide: true, querystring: noQuery, body: signInBody } },
      async (request, reply) => {
        callers.checkOwnPage(request);
        callers.checkTransport(request);
        counts.takeConsoleSignIn(request);
        const before = cookies.read(request, 'session');
        const session = await sessions.signIn(request.body.key, before, request.id);
        cookies.set(reply, 'session', session.cookie, consoleSessionMsMax);
        return send(reply, session);
      },
    );

    app.delete(
      path,
      {
        config,
        preValidation: emptyWhenAbsent,
        schema: { hide: true, querystring: noQuery, body: noBody },
      },
      async (request, reply) => {
        const cookie = cookies.read(request, 'session');
        // Throws unless the page has the token: another page must not be able to end the session.
        await sessions.findFresh(cookie);
        await callers.callerOf(request);
        if (cookie !== undefined) await sessions.signOut(cookie, request.id);
        cookies.clear(reply, 'session');
        return sendEnvelope(reply.headers(privateHeaders), success({ message: 'Signed out' }));
      },
    );
  };
}

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
export function sendSession(
  reply: FastifyReply,
  session: ConsoleSession | undefined,
  facts: ConsoleFacts,
): FastifyReply {
  return sendEnvelope(reply.headers(privateHeaders), success(shown(session, facts)));
}

function shown(
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

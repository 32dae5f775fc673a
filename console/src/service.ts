import { CounterfoilError } from '@counterfoil/client';
import { Operator } from '@counterfoil/client/operator';
import { viewCharactersMax } from './limits.ts';
import { texts } from './texts.ts';

/** What the service says about this browser and about itself (`/console/session`). */
export interface Session {
  readonly mode: 'open' | 'key' | 'administrator';
  readonly key: { readonly id: string; readonly name: string } | null;
  readonly administrator: {
    readonly issuer: string;
    readonly subject: string;
    readonly name: string | null;
  } | null;
  readonly scopes: readonly string[];
  /** The tables, and the routes as `processor/route`, that the key may use; null means all. */
  readonly tables: readonly string[] | null;
  readonly routes: readonly string[] | null;
  readonly token: string | null;
  readonly expires_at: string | null;
  readonly version: string;
  readonly base_path: string;
  /** How a table comes to exist: with its first item, or only by the settings. */
  readonly table_policy: 'open' | 'declared';
  readonly payments: {
    readonly base_path: string;
    readonly processors: readonly string[];
    readonly routes: Readonly<Record<string, { readonly unit: 'minor' | 'major' }>>;
    readonly decimals: Readonly<Record<string, number>>;
  } | null;
}

/** The address at which payments are made. */
export interface Place {
  readonly processor: string;
  readonly route: string;
}

/** An integration by which administrators sign in. */
export interface OfferedIntegration {
  readonly provider: string;
  readonly name: string;
}

const path = '/console/session';
const signInPath = '/console/sign-in';
/** The view that the provider sends the browser back to. */
export const landing = '/console/signed-in';

/** Rejects with `unauthenticated` if nobody is signed in. */
export function readSession(): Promise<Session> {
  return call('GET');
}

/** Exchanges a key for a session, which the browser keeps in a cookie that no script can read. */
export function signIn(key: string): Promise<Session> {
  return call('POST', { body: { key } });
}

/** The integrations by which administrators sign in; none if there is no administrator. */
export async function offeredIntegrations(): Promise<readonly OfferedIntegration[]> {
  const { integrations } = await call<{ integrations: readonly OfferedIntegration[] }>('GET', {
    at: signInPath,
  });
  return integrations;
}

/** Begins a sign-in. @returns the provider's address, to which the browser must go */
export async function beginSignIn({ provider, name }: OfferedIntegration): Promise<string> {
  const view = location.pathname + location.search;
  const body = { provider, name, view: view.length > viewCharactersMax ? '' : view };
  const begun = await call<{ authorization_url: string }>('POST', { at: signInPath, body });
  return begun.authorization_url;
}

/** Exchanges the sign-in that this browser has just made for a session. Rejects with `unauthenticated` if there is none. */
export function finishSignIn(): Promise<Session> {
  return call('POST', { at: `${signInPath}/session` });
}

/** The view that was open before the sign-in, from the address to which the provider sent the browser. */
export function viewBefore(): string {
  const view = new URLSearchParams(location.search).get('view') ?? '';
  return /^\/console(\/|\?|$)/.test(view) && !view.startsWith(landing) ? view : '/console';
}

export async function signOut({ token }: Session): Promise<void> {
  await call('DELETE', { token });
}

/** The client of the session. @param onEnded called when the service no longer knows the session */
export function clientOf(session: Session, onEnded: () => void): Operator {
  const { origin } = location;
  return new Operator({
    url: origin + session.base_path,
    paymentUrl: origin + (session.payments?.base_path ?? ''),
    fetch: (url, init) => fetch(url, { ...init, headers: withToken(init.headers, session.token) }),
    onResponse: ({ error }) => {
      if (error?.code === 'unauthenticated') onEnded();
    },
  });
}

/**
 * Whether the key of the session has a scope. The service decides this; the console only hides what it would reject.
 */
export function may({ scopes }: Session, scope: string): boolean {
  return scopes.includes('admin') || scopes.includes(scope);
}

/** Every processor and route whose payments the session may see. */
export function placesOf({ payments, routes: only }: Session): readonly Place[] {
  if (payments === null) return [];
  return payments.processors
    .flatMap((processor) => Object.keys(payments.routes).map((route) => ({ processor, route })))
    .filter(({ processor, route }) => only?.includes(`${processor}/${route}`) ?? true);
}

/** Headers for requests that the client does not send. */
export function withToken(headers: HeadersInit | undefined, token: string | null): Headers {
  const sent = new Headers(headers);
  if (token !== null) sent.set('console-token', token);
  return sent;
}

interface Call {
  readonly at?: string;
  readonly body?: object;
  readonly token?: string | null;
}

async function call<Body = Session>(
  method: string,
  { at = path, body, token = null }: Call = {},
): Promise<Body> {
  const headers = withToken(body === undefined ? {} : { 'content-type': 'application/json' }, token);
  const sent = fetch(at, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  const response = await sent.catch((cause: unknown) => {
    throw new CounterfoilError(brokenConnection, undefined, cause);
  });
  const envelope = await response.json();
  if (response.ok) return envelope.body as Body;
  throw new CounterfoilError(envelope.body.error, response);
}

const brokenConnection = {
  type: 'client',
  code: 'network_error',
  message: texts.problem.connection,
  retryable: true,
} as const;

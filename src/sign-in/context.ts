import type { IdentityProvider } from '../identity/provider.ts';
import type { Write } from '../storage/engine.ts';
import type { AccessEnding } from './access-ending.ts';
import type { ConsoleSignIns } from './console-sign-ins.ts';
import type { Integrations } from './integrations.ts';
import type { OneTimeIds } from './one-time-ids.ts';
import type { PendingSignIns } from './pending-sign-ins.ts';
import type { Sessions } from './sessions.ts';
import type { ProviderName, Session } from './types.ts';
import type { Users } from './users.ts';

/** The dependencies of the steps of sign-in. */
export interface SignInContext {
  readonly integrations: Integrations;
  readonly pending: PendingSignIns;
  readonly oneTimeIds: OneTimeIds;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly accessEnding: AccessEnding;
  readonly providers: Readonly<Record<ProviderName, IdentityProvider>>;
  readonly appTokens: AppTokens;
  /** Decides about sign-ins to the console. */
  readonly console: ConsoleSignIns;
  /** The public origin of the service, and the path in front of `/v3`. */
  readonly origin: string;
  readonly prefix: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** The request of an app on another origin at the beginning of its sign-in. */
export interface AppRequest {
  readonly returnUrl: string;
  /** RFC 7636, 4.2, by the method S256. */
  readonly codeChallenge: string;
}

/** The part of token issuing that the sign-in flow needs. */
export interface AppTokens {
  /**
   * A one-time code for an app on another origin, valid for at most 60 s, and the writes that make it valid. Commit the
   * writes together with the session, so that neither exists without the other. Throws `invalid_request` for anything
   * but an S256 challenge.
   */
  newCode(
    session: Session,
    request: AppRequest,
  ): { readonly code: string; readonly writes: readonly Write[] };
}

/** The public addresses of the routes of an integration. */
export function integrationUrls(
  { origin, prefix }: Pick<SignInContext, 'origin' | 'prefix'>,
  { provider, name }: { readonly provider: string; readonly name: string },
): { readonly redirectUri: string; readonly signInUrl: string } {
  const path = `${origin}${prefix}/v3/auth/${provider}/${name}`;
  return { redirectUri: `${path}/callback`, signInUrl: `${path}/sign-in` };
}

import type { IdentityProvider } from '../identity/provider.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { AccessEnding } from './access-ending.ts';
import type { ConsoleApprovals } from './console-approvals.ts';
import type { Integrations } from './integrations.ts';
import type { OneTimeIds } from './one-time-ids.ts';
import type { PendingSignIns } from './pending-sign-ins.ts';
import type { ProviderName } from './providers.ts';
import type { Sessions } from './sessions.ts';
import type { AppTokens } from './tokens/app-tokens.ts';
import type { Users } from './users.ts';

/** The dependencies of sign-in. */
export interface SignInContext {
  readonly integrations: Integrations;
  readonly pending: PendingSignIns;
  readonly oneTimeIds: OneTimeIds;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly accessEnding: AccessEnding;
  readonly providers: Readonly<Record<ProviderName, IdentityProvider>>;
  readonly appTokens: AppTokens;
  /** Whether a user may sign in to the console with a registration. */
  readonly isAdministrator: (user: string, registration: string) => Promise<boolean>;
  readonly consoleApprovals: ConsoleApprovals;
  /** The public origin of the service, and the path in front of `/v3`. */
  readonly origin: string;
  readonly prefix: string;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly metrics: Metrics;
}

/** The public addresses of the routes of an integration. */
export function addressesOf(
  { origin, prefix }: Pick<SignInContext, 'origin' | 'prefix'>,
  { provider, name }: { readonly provider: string; readonly name: string },
): { readonly redirectUri: string; readonly signInUrl: string } {
  const path = `${origin}${prefix}/v3/auth/${provider}/${name}`;
  return { redirectUri: `${path}/callback`, signInUrl: `${path}/sign-in` };
}

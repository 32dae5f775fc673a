import { Administrators } from '../access/administrators.ts';
import { ApiKeys } from '../access/api-keys.ts';
import { type AuditEntry, auditTrail } from '../access/audit.ts';
import { AuditReader } from '../access/audit-page.ts';
import { CallLimits } from '../access/call-limits.ts';
import { challengeOf } from '../access/challenge.ts';
import { ConsoleSessions } from '../access/console-sessions.ts';
import { DeclineLimits } from '../access/decline-limits.ts';
import { KeyAdministration } from '../access/key-administration.ts';
import { KeyRing } from '../access/key-ring.ts';
import { SettingsError } from '../errors.ts';
import type { AppOptions } from '../http/server/app.ts';
import { Authorizer } from '../http/server/authorize.ts';
import { CallerAddresses } from '../http/server/caller-address.ts';
import { ConsoleCallers } from '../http/server/console-caller.ts';
import { ConsoleCookies } from '../http/server/console-cookies.ts';
import { CrossOrigin } from '../http/server/cors.ts';
import { type Log, openLog } from '../log.ts';
import { isLoopback } from '../origins.ts';
import type { Settings } from '../settings/schema.ts';
import { ConsoleSignIns } from '../sign-in/console-sign-ins.ts';
import type { Engine } from '../storage/engine.ts';
import { existingStore, openEngine } from './adapters.ts';
import { distantDeclinesCachedMs } from './limits.ts';
import { withoutPrice } from './unpriced-routes.ts';

/** Sets up access control. */

/** The access options of an HTTP app. */
export type Access = Pick<AppOptions, 'crossOrigin' | 'isHttpsOnly' | 'callerAddresses'> & {
  readonly authorizer: Authorizer;
  readonly declines: DeclineLimits;
  readonly audit: AuditReader;
  readonly keys: KeyAdministration;
  readonly administrators: Administrators;
  /** The sign-ins to the console. */
  readonly signIns: ConsoleSignIns;
  /** The callers of the console; undefined if the settings turn it off. */
  readonly console: ConsoleCallers | undefined;
  /** Whether programs on this machine need no API key. */
  readonly isOpen: () => boolean;
};

/** Throws SettingsError if other machines can reach the service, or it moves real money, and no API key was ever made. */
export async function openAccess(
  settings: Settings,
  engine: Engine,
  log: Log,
  now: () => number,
): Promise<Access> {
  const { host, payments, corsOrigins, trustedProxies, limits, publicUrl } = settings;
  const reachable = [host, payments.host ?? host].find((address) => !isLoopback(address));
  const hasProcessor = settings.stripe.key !== undefined || settings.square.accessToken !== undefined;
  const isHttpsOnly = publicUrl?.startsWith('https:') ?? false;
  const isNeverOpen = reachable !== undefined || hasProcessor;
  if (isNeverOpen && !(await new ApiKeys(engine, 'service').wereEverMade()))
    throw new SettingsError([noKeyYet(reachable)]);
  const keys = new KeyRing(engine, now);
  await keys.refresh();
  for (const key of keys.publishable) {
    const detail = withoutPrice(key, settings);
    if (detail !== undefined) log.warn('publishable_key_without_price', { key_id: key.id, detail });
  }
  const declines = openDeclineLimits(settings, engine, now);
  const administrators = new Administrators(engine, now);
  const signIns = new ConsoleSignIns(engine, now);
  const sessions = new ConsoleSessions({ engine, keys, administrators, signIns, now });
  const console =
    settings.console === 'on'
      ? new ConsoleCallers(sessions, new ConsoleCookies(publicUrl), publicUrl)
      : undefined;
  const authorizer = new Authorizer({
    keys,
    console,
    limits: new CallLimits(limits),
    declines,
    // An open service has only the limits in its settings.
    areOpenDeclinesCounted: limits.declines !== undefined,
    challenge: challengeOf(settings.challenge),
    isNeverOpen,
    trustedOrigins: new Set(corsOrigins),
  });
  if (reachable !== undefined && !isHttpsOnly) {
    log.warn('keys_without_tls', {
      detail: `${reachable} is reached from other machines, and publicUrl is not https: API keys can be read in transit`,
    });
  }
  return {
    authorizer,
    declines,
    audit: new AuditReader(engine, now),
    keys: new KeyAdministration(engine, keys, administrators, now),
    administrators,
    signIns,
    console,
    isOpen: () => !isNeverOpen && !keys.areRequired,
    crossOrigin: new CrossOrigin(corsOrigins, () => keys.origins),
    isHttpsOnly,
    callerAddresses: new CallerAddresses(trustedProxies),
  };
}

/** The counts of the cards that addresses have tried. */
export function openDeclineLimits(
  { limits, store }: Settings,
  engine: Engine,
  now: () => number,
): DeclineLimits {
  return new DeclineLimits({
    engine,
    perHour: limits.declines,
    cachedMs: store === 'lmdb' ? 0 : distantDeclinesCachedMs,
    now,
  });
}

function noKeyYet(reachable: string | undefined): string {
  const make = 'make one first: npx counterfoil keys create --name admin --scope admin';
  return reachable === undefined
    ? `stripe.key, square.accessToken: a service that moves real money needs an API key, and there is none yet; ${make}`
    : `host (HOST, COUNTERFOIL_PAYMENT_HOST): ${reachable} can be reached from other machines, and there is no API key ` +
        `yet; ${make}`;
}

export interface OfflineAccess {
  readonly keys: ApiKeys;
  readonly administrators: Administrators;
  /** The administrative acts. @param since milliseconds since 1970 */
  trail(since?: number): AsyncGenerator<AuditEntry>;
  close(): Promise<void>;
}

/**
 * Opens the API keys, the administrators and the audit trail of a data folder for a command. The service may be running. Throws SettingsError.
 *
 * @param makesStore whether to make a missing store: the first key is made before the first start
 */
export async function openOfflineAccess(settings: Settings, makesStore: boolean): Promise<OfflineAccess> {
  const log = openLog('error');
  if (!makesStore && settings.store === 'lmdb') existingStore(settings);
  const engine = await openEngine(settings, log);
  return {
    keys: new ApiKeys(engine, 'cli'),
    administrators: new Administrators(engine, Date.now),
    trail: (since) => auditTrail(engine, since),
    close: async () => {
      await engine.close();
      log.flush();
    },
  };
}

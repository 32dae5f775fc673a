import { Administrators } from '../access/console/administrators.ts';
import { ConsoleSessions } from '../access/console/console-sessions.ts';
import type { ApiKey } from '../access/keys/api-key.ts';
import { Keys, makeFirstKey } from '../access/keys/keys.ts';
import { CallLimits } from '../access/limits/call-limits.ts';
import { openCaptcha } from '../access/limits/captcha.ts';
import { isLoopback } from '../addresses.ts';
import { AuditReader } from '../audit/audit-page.ts';
import { SettingsError } from '../errors.ts';
import type { AppOptions } from '../http/server/app.ts';
import { Authorizer } from '../http/server/authorize.ts';
import { CallerAddresses } from '../http/server/caller-address.ts';
import { ConsoleCallers, ConsoleCookies } from '../http/server/console-caller.ts';
import { CrossOrigin } from '../http/server/cors.ts';
import type { Log } from '../log.ts';
import { CardTestingLimiter } from '../payments/payments.ts';
import type { ConnectedProcessor } from '../processors/processor.ts';
import type { Settings } from '../settings/schema.ts';
import { ConsoleSignIns } from '../sign-in/sign-in.ts';
import type { Engine } from '../storage/engine.ts';
import { distantDeclinesCachedMs } from './limits.ts';

/** Sets up access control. */

/** The access options of an HTTP app. */
export type AccessParts = Pick<AppOptions, 'crossOrigin' | 'isHttpsOnly' | 'callerAddresses'> & {
  readonly authorizer: Authorizer;
  readonly cardTesting: CardTestingLimiter;
  readonly audit: AuditReader;
  readonly keys: Keys;
  readonly administrators: Administrators;
  /** The sign-ins to the console. */
  readonly signIns: ConsoleSignIns;
  /** The callers of the console; undefined if the settings turn it off. */
  readonly console: ConsoleCallers | undefined;
  /** Whether programs on this machine need no API key. */
  readonly isOpen: () => boolean;
};

/**
 * Throws SettingsError if other machines can reach the service, also through a proxy that the settings speak of, or it moves real
 * money, and no API key was ever made.
 *
 * @param processors those that the service serves; undefined for one without a key
 */
export async function openAccess(
  settings: Settings,
  engine: Engine,
  processors: Iterable<Pick<ConnectedProcessor, 'name' | 'movesMoney'> | undefined>,
  log: Log,
  now: () => number,
): Promise<AccessParts> {
  const { corsOrigins, trustedProxies, limits, publicUrl } = settings;
  const reachable = reachableAddress(settings);
  // Only a clear no opens the service: an adapter without the field closes it.
  const real = [...processors].find((each) => each !== undefined && each.movesMoney !== false);
  const isHttpsOnly = publicUrl?.startsWith('https:') ?? false;
  const whyKeys = reasonForKeys(settings, real?.name);
  const isNeverOpen = whyKeys !== undefined;
  const administrators = new Administrators(engine, now);
  const keys = new Keys(engine, administrators, now);
  await keys.ring.refresh();
  if (isNeverOpen && !keys.ring.areRequired)
    throw new SettingsError([`${whyKeys}, and there is no API key yet. ${makeFirstKey}`]);
  for (const key of keys.ring.publishable) {
    const detail = unpricedRouteWarning(key, settings);
    if (detail !== undefined) log.warn('publishable_key_without_price', { key_id: key.id, detail });
  }
  const cardTesting = openCardTestingLimiter(settings, engine, now);
  const signIns = new ConsoleSignIns({
    engine,
    now,
    isAdministrator: (user, registration) => administrators.isOne(user, registration),
  });
  const sessions = new ConsoleSessions({ engine, keys: keys.ring, administrators, signIns, now });
  const console =
    settings.console === 'on'
      ? new ConsoleCallers(sessions, new ConsoleCookies(publicUrl), publicUrl)
      : undefined;
  const authorizer = new Authorizer({
    keys: keys.ring,
    console,
    limits: new CallLimits(limits),
    cardTesting,
    // An open service has only the limits in its settings.
    areOpenDeclinesCounted: limits.declines !== undefined,
    captcha: openCaptcha(settings.challenge),
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
    cardTesting,
    audit: new AuditReader(engine, now),
    keys,
    administrators,
    signIns,
    console,
    isOpen: () => !isNeverOpen && !keys.ring.areRequired,
    crossOrigin: new CrossOrigin(corsOrigins, () => keys.ring.origins),
    isHttpsOnly,
    callerAddresses: new CallerAddresses(trustedProxies),
  };
}

/** The counts of the cards that addresses have tried. */
export function openCardTestingLimiter(
  { limits, store }: Settings,
  engine: Engine,
  now: () => number,
): CardTestingLimiter {
  return new CardTestingLimiter({
    engine,
    perHour: limits.declines,
    cachedMs: store === 'lmdb' ? 0 : distantDeclinesCachedMs,
    now,
  });
}

/** The first address to listen on that other machines can reach. */
function reachableAddress({ host, payments }: Settings): string | undefined {
  return [host, payments.host ?? host].find((address) => !isLoopback(address));
}

/**
 * Why a service needs an API key from the start, as the beginning of a sentence; undefined if it does not.
 *
 * @param processor one that moves real money
 */
function reasonForKeys(settings: Settings, processor: string | undefined): string | undefined {
  const { trustedProxies, publicUrl } = settings;
  const reachable = reachableAddress(settings);
  if (reachable !== undefined)
    return `host (HOST, COUNTERFOIL_PAYMENT_HOST): ${reachable} can be reached from other machines`;
  if (processor !== undefined) return `${processor}: a service that moves real money needs an API key`;
  if (trustedProxies.length > 0)
    return 'trustedProxies (COUNTERFOIL_TRUSTED_PROXIES): a proxy lets other machines reach the service';
  // A page on loopback can be opened on this machine only: the examples and development servers have one.
  if (publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname))
    return `publicUrl (COUNTERFOIL_PUBLIC_URL): ${publicUrl} can be reached from other machines`;
  return undefined;
}

/**
 * Explains why a publishable key cannot take payments: the routes that it is limited to have no price, or no route has one.
 * Undefined for every other key.
 */
export function unpricedRouteWarning(
  { kind, routes: limits }: Pick<ApiKey, 'kind' | 'routes'>,
  { payments }: Settings,
): string | undefined {
  if (kind !== 'publishable') return undefined;
  const names = limits?.map((limit) => limit.slice(limit.indexOf('/') + 1)) ?? Object.keys(payments.routes);
  const known = names.filter((name) => payments.routes[name] !== undefined);
  const unpriced = known.filter((name) => payments.routes[name]?.price === undefined);
  // A key without limits is in use as long as one route has a price.
  if (unpriced.length === 0 || (limits === undefined && unpriced.length < known.length)) return undefined;
  const settings = unpriced.map((name) => `payments.routes.${name}.price`).join(', ');
  return `it cannot take payments on ${unpriced.join(', ')}, because a page must not set the price; set ${settings}`;
}

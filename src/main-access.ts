import { ApiKeys } from './access/api-keys.ts';
import { type AuditEntry, auditTrail } from './access/audit.ts';
import { CallLimits } from './access/call-limits.ts';
import { KeyRing } from './access/key-ring.ts';
import { existingStore, openEngine } from './adapters.ts';
import { SettingsError } from './errors.ts';
import { CrossOrigin } from './http/cross-origin.ts';
import type { DoorOptions } from './http/door.ts';
import { Gate } from './http/gate.ts';
import { openLog } from './log.ts';
import { isLoopback } from './loopback.ts';
import type { Settings } from './settings/schema.ts';
import type { Engine } from './storage/engine.ts';

/** The part of main.ts that says who may call. */

/** What a door is told of its callers. */
export type Access = Pick<DoorOptions, 'crossOrigin' | 'isHttpsOnly' | 'trustedProxies'> & {
  readonly gate: Gate;
};

/** Throws SettingsError for a service that others could reach and nobody needs a key for. */
export async function openAccess(settings: Settings, engine: Engine, now: () => number): Promise<Access> {
  const { host, payments, corsOrigins, trustedProxies, limits, publicUrl } = settings;
  const reachable = [host, payments.host ?? host].find((address) => !isLoopback(address));
  if (reachable !== undefined && !(await new ApiKeys(engine, 'service').wereEverMade())) {
    throw new SettingsError([
      `host (HOST, COUNTERFOIL_PAYMENT_HOST): ${reachable} can be reached from other machines, and there is no API ` +
        'key yet; make one first: npm run counterfoil -- keys create --name admin --scope admin',
    ]);
  }
  const keys = new KeyRing(engine, now);
  await keys.refresh();
  const gate = new Gate({
    keys,
    limits: new CallLimits(limits),
    isPublic: reachable !== undefined,
    trustedOrigins: new Set(corsOrigins),
  });
  return {
    gate,
    crossOrigin: new CrossOrigin(corsOrigins, () => keys.origins),
    isHttpsOnly: publicUrl?.startsWith('https:') ?? false,
    trustedProxies,
  };
}

export interface AccessBooks {
  readonly keys: ApiKeys;
  /** What administrators have done. @param since milliseconds since 1970 */
  trail(since?: number): AsyncGenerator<AuditEntry>;
  close(): Promise<void>;
}

/**
 * The API keys and the audit trail of a data folder for a command beside the service, which may be running. Throws
 * SettingsError.
 *
 * @param makesStore whether a store that is not there yet is made: the first key comes before the first start
 */
export async function openAccessBooks(settings: Settings, makesStore: boolean): Promise<AccessBooks> {
  const log = openLog('error');
  if (!makesStore && settings.store === 'lmdb') existingStore(settings);
  const engine = await openEngine(settings, log);
  return {
    keys: new ApiKeys(engine, 'cli'),
    trail: (since) => auditTrail(engine, since),
    close: async () => {
      await engine.close();
      log.flush();
    },
  };
}

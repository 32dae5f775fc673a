import { statfsSync } from 'node:fs';
import { hasEnded } from '../../access/keys/api-key.ts';
import { operatorKeys } from '../../access/keys/keys.ts';
import { isLoopback } from '../../addresses.ts';
import { defined } from '../../defined.ts';
import { processorCheckMsMax } from '../../payments/limits.ts';
import { openOfOtherAccounts } from '../../payments/payments.ts';
import type { ProcessorAccount } from '../../processors/processor.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Engine } from '../../storage/engine.ts';
import { diskLowBytes, diskReserveBytes } from '../../storage/limits.ts';
import { unpricedRouteWarning } from '../access.ts';
import { checkPortsAreFree } from '../listeners.ts';
import { type Finding, ok, problem } from './finding.ts';

/** Checks of the service's surroundings: its address, the disk, the keys of browsers, and the processors. */

const mebibyte = 1024 * 1024;

/** No finding for a distributed store. */
export function diskCheck({ store, data }: Pick<Settings, 'store' | 'data'>): readonly Finding[] {
  if (store !== 'lmdb') return [];
  const { bavail, bsize } = statfsSync(data);
  const free = bavail * bsize;
  const text = `${Math.floor(free / mebibyte)} MiB are free under ${data}`;
  if (free < diskReserveBytes)
    return [problem('disk', `${text}, and the service rejects writes`, 'make room')];
  const action = `make room: under ${diskReserveBytes / mebibyte} MiB the service rejects writes`;
  return [free < diskLowBytes ? problem('disk', text, action) : ok('disk', text)];
}

/** One problem for each publishable key that cannot take payments. */
export async function publishableKeysCheck(
  settings: Settings,
  engine: Engine,
  now: number,
): Promise<readonly Finding[]> {
  const keys = await operatorKeys(engine).list();
  return keys
    .filter((key) => !hasEnded(key, now))
    .flatMap((key) => {
      const reason = unpricedRouteWarning(key, settings);
      return reason === undefined ? [] : [problem(`publishable API key ${key.id} (${key.name})`, reason)];
    });
}

/** Calls each processor that has a key. @param known by name; undefined for one without a key */
export async function processorsCheck(
  known: ReadonlyMap<string, ProcessorAccount | undefined>,
  engine: Engine,
): Promise<readonly Finding[]> {
  const configured = [...known.values()].filter((processor) => processor !== undefined);
  if (configured.length === 0) return [ok('processors', 'the settings have no key')];
  const findings = await Promise.all(
    configured.map(async (processor) => [
      await reachableCheck(processor),
      ...(await accountCheck(processor, engine)),
    ]),
  );
  return findings.flat();
}

/** Finds charges and refunds of another account: they stay unresolved without the key of that account. */
async function accountCheck(processor: ProcessorAccount, engine: Engine): Promise<readonly Finding[]> {
  const check = `processor ${processor.name}`;
  const account = await processor.account(processorCheckMsMax);
  if (account.kind === 'withheld')
    return [
      problem(
        check,
        'the key has no permission to read its account, so a key of another account would go unnoticed',
        'grant the permission',
      ),
    ];
  if (account.kind === 'unknown') return [];
  const others = await openOfOtherAccounts(engine, {
    processor: processor.name,
    account: account.id,
    ...defined({ mode: account.mode }),
  });
  const name = account.mode === undefined ? account.id : `${account.id}, ${account.mode} mode`;
  if (others.length === 0) return [ok(check, `account ${name}`)];
  const [first] = others;
  return [
    problem(
      check,
      `${others.length} open payments, for example ${first}, were made under another account than ${name}`,
      'use the key of that account until they have ended',
    ),
  ];
}

async function reachableCheck(processor: ProcessorAccount): Promise<Finding> {
  const name = `processor ${processor.name}`;
  const check = await processor.check(processorCheckMsMax);
  switch (check.kind) {
    case 'well':
      return ok(name, 'responds, and accepts the key');
    case 'rejected':
      return problem(
        name,
        `rejects the key of the settings, or the key lacks permissions (${check.detail})`,
        "check it in the processor's dashboard",
      );
    case 'unknown':
      return problem(
        name,
        `cannot be reached (${check.detail})`,
        'check the network, and the API base of the settings',
      );
  }
}

type ListenAddress = Pick<Settings, 'host' | 'port' | 'publicUrl'>;

/** Checks who can reach the running service, and that API keys cannot be read in transit. */
export function reachCheck(settings: ListenAddress): Finding {
  return (
    exposedKeys(settings) ?? ok('address', `${formatAddress(settings)} is served; ${describeReach(settings)}`)
  );
}

/** As `reachCheck`; also checks that the service has the address, or can have it. */
export async function addressCheck(settings: Settings): Promise<Finding> {
  const exposed = exposedKeys(settings);
  if (exposed !== undefined) return exposed;
  const text = formatAddress(settings);
  try {
    await checkPortsAreFree(settings);
    return ok('address', `${text} is free; ${describeReach(settings)}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await isServed(settings))) return reachCheck(settings);
    const { message, action } = explainListenError(code);
    return problem('address', `${text}: ${message}`, action);
  }
}

function exposedKeys(settings: ListenAddress): Finding | undefined {
  if (isLoopback(settings.host) || settings.publicUrl?.startsWith('https:')) return undefined;
  return problem(
    'address',
    `${formatAddress(settings)}; ${describeReach(settings)}, and publicUrl (COUNTERFOIL_PUBLIC_URL) is not https: API keys can be read in transit`,
  );
}

function formatAddress({ host, port }: ListenAddress): string {
  return `${host}:${port}`;
}

function describeReach({ host }: ListenAddress): string {
  return isLoopback(host) ? 'only this machine can reach it' : 'other machines can reach it';
}

function explainListenError(code: string | undefined): { readonly message: string; readonly action: string } {
  switch (code) {
    case 'EADDRINUSE':
      return {
        message: 'another program uses it, or the payment port',
        action: 'stop it, or set PORT or COUNTERFOIL_PAYMENT_PORT',
      };
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return { message: 'this machine has no such address', action: 'set HOST' };
    case 'EACCES':
      return {
        message: 'this user has no permission to listen on it',
        action: 'set PORT to 1024 or more',
      };
    default:
      return { message: `cannot be listened on (${code})`, action: 'set HOST and PORT' };
  }
}

/** Whether a Counterfoil service has the port. Which service it is remains unknown. */
async function isServed({ host, port }: ListenAddress): Promise<boolean> {
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`;
    const response = await fetch(url, { signal: AbortSignal.timeout(processorCheckMsMax) });
    return (await response.text()) === '{"statusCode":200,"body":{"status":"alive"}}';
  } catch {
    return false;
  }
}

import { statfsSync } from 'node:fs';
import { hasEnded } from '../access/api-key.ts';
import { ApiKeys } from '../access/api-keys.ts';
import { openProcessors } from '../app/adapters.ts';
import { checkPortsAreFree } from '../app/listeners.ts';
import { withoutPrice } from '../app/unpriced-routes.ts';
import { isLoopback } from '../origins.ts';
import { openOfOtherAccounts } from '../payments/accounts.ts';
import { processorCheckMsMax } from '../payments/limits.ts';
import type { ProcessorAccount } from '../processors/processor.ts';
import type { Settings } from '../settings/schema.ts';
import type { Engine } from '../storage/engine.ts';
import { diskLowBytes, diskReserveBytes } from '../storage/limits.ts';

/** The result of a check; the text of a problem says what to do. */
export type Finding = { readonly ok: string } | { readonly problem: string };

const mebibyte = 1024 * 1024;

/** Checks the disk, the address to listen on, the keys of browsers, and the processors. */
export async function surroundings(settings: Settings, engine: Engine): Promise<readonly Finding[]> {
  return [
    ...disk(settings),
    await address(settings),
    ...(await publishableKeys(settings, engine)),
    ...(await processors(settings, engine)),
  ];
}

async function publishableKeys(settings: Settings, engine: Engine): Promise<readonly Finding[]> {
  const keys = await new ApiKeys(engine, 'cli').list();
  return keys
    .filter((key) => !hasEnded(key, Date.now()))
    .flatMap((key) => {
      const problem = withoutPrice(key, settings);
      return problem === undefined
        ? []
        : [{ problem: `publishable API key ${key.id} (${key.name}): ${problem}` }];
    });
}

function disk({ store, data }: Settings): readonly Finding[] {
  if (store !== 'lmdb') return [];
  const { bavail, bsize } = statfsSync(data);
  const free = bavail * bsize;
  const text = `disk: ${Math.floor(free / mebibyte)} MiB are free under ${data}`;
  if (free < diskReserveBytes) return [{ problem: `${text}, and the service rejects writes; make room` }];
  if (free < diskLowBytes)
    return [
      { problem: `${text}; make room: under ${diskReserveBytes / mebibyte} MiB the service rejects writes` },
    ];
  return [{ ok: text }];
}

async function address(settings: Settings): Promise<Finding> {
  const { host, port } = settings;
  const text = `address: ${host}:${port}`;
  const reach = isLoopback(host) ? 'only this machine can reach it' : 'other machines can reach it';
  if (!isLoopback(host) && !settings.publicUrl?.startsWith('https:'))
    return {
      problem: `${text}; ${reach}, and publicUrl (COUNTERFOIL_PUBLIC_URL) is not https: API keys can be read in transit`,
    };
  try {
    await checkPortsAreFree(settings);
    return { ok: `${text} is free; ${reach}` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await isServed(host, port))) return { ok: `${text} is served; ${reach}` };
    return { problem: `${text}: ${adviceOn(code)}` };
  }
}

function adviceOn(code: string | undefined): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'another program uses it, or the payment port; stop it, or set PORT or COUNTERFOIL_PAYMENT_PORT';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address; set HOST';
    case 'EACCES':
      return 'this user has no permission to listen on it; set PORT to 1024 or more';
    default:
      return `cannot be listened on (${code}); set HOST and PORT`;
  }
}

/** Whether a Counterfoil service has the port; which one it is remains unknown. */
async function isServed(host: string, port: number): Promise<boolean> {
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`;
    const response = await fetch(url, { signal: AbortSignal.timeout(processorCheckMsMax) });
    return (await response.text()) === '{"statusCode":200,"body":{"status":"alive"}}';
  } catch {
    return false;
  }
}

async function processors(settings: Settings, engine: Engine): Promise<readonly Finding[]> {
  const known = [...(await openProcessors(settings, undefined)).values()];
  const configured = known.filter((processor) => processor !== undefined);
  if (configured.length === 0) return [{ ok: 'processors: the settings have no key' }];
  const findings = await Promise.all(
    configured.map(async (processor) => [
      await processorChecked(processor),
      ...(await otherAccounts(processor, engine)),
    ]),
  );
  return findings.flat();
}

/** Finds charges and refunds of another account: they stay unresolved without the key of that account. */
async function otherAccounts(processor: ProcessorAccount, engine: Engine): Promise<readonly Finding[]> {
  const account = await processor.account(processorCheckMsMax);
  if (account.kind === 'withheld') {
    const problem =
      `processor ${processor.name}: the key has no permission to read its account, ` +
      'so a key of another account would go unnoticed; grant the permission';
    return [{ problem }];
  }
  if (account.kind === 'unknown') return [];
  const others = await openOfOtherAccounts(engine, processor.name, account.id);
  if (others.length === 0) return [{ ok: `processor ${processor.name}: account ${account.id}` }];
  const [first] = others;
  const problem =
    `processor ${processor.name}: ${others.length} open payments, for example ${first}, were made under ` +
    `another account than ${account.id}; use the key of that account until they have ended`;
  return [{ problem }];
}

async function processorChecked(processor: ProcessorAccount): Promise<Finding> {
  const { name } = processor;
  const check = await processor.check(processorCheckMsMax);
  switch (check.kind) {
    case 'well':
      return { ok: `processor ${name}: responds, and accepts the key` };
    case 'rejected':
      return {
        problem:
          `processor ${name}: rejects the key of the settings, or the key lacks permissions (${check.detail}); ` +
          "check it in the processor's dashboard",
      };
    case 'unknown':
      return {
        problem:
          `processor ${name}: cannot be reached (${check.detail}); ` +
          'check the network, and the API base of the settings',
      };
  }
}

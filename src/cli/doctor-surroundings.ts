import { statfsSync } from 'node:fs';
import { openProcessors } from '../app/adapters.ts';
import { checkPortsAreFree } from '../app/service.ts';
import { isLoopback } from '../origins.ts';
import { openOfOtherAccounts } from '../payments/accounts.ts';
import { processorCheckMsMax } from '../payments/limits.ts';
import type { Processor } from '../processors/processor.ts';
import type { Settings } from '../settings/schema.ts';
import type { Engine } from '../storage/engine.ts';
import { diskLowBytes, diskReserveBytes } from '../storage/limits.ts';

/** What a check has found; a problem says what to do. */
export type Finding = { readonly ok: string } | { readonly problem: string };

const mebibyte = 1024 * 1024;

/** What lies around the data: the disk that it is on, the address to listen on, the processors to ask. */
export async function surroundings(settings: Settings, engine: Engine): Promise<readonly Finding[]> {
  return [...disk(settings), await address(settings), ...(await processors(settings, engine))];
}

function disk({ store, data }: Settings): readonly Finding[] {
  if (store !== 'lmdb') return [];
  const { bavail, bsize } = statfsSync(data);
  const free = bavail * bsize;
  const told = `disk: ${Math.floor(free / mebibyte)} MiB are free under ${data}`;
  if (free < diskReserveBytes) return [{ problem: `${told}, and the service writes no more; make room` }];
  if (free < diskLowBytes)
    return [
      { problem: `${told}; make room: under ${diskReserveBytes / mebibyte} MiB the service writes no more` },
    ];
  return [{ ok: told }];
}

async function address(settings: Settings): Promise<Finding> {
  const { host, port } = settings;
  const told = `address: ${host}:${port}`;
  const reach = isLoopback(host) ? 'this machine alone reaches it' : 'other machines reach it';
  if (!isLoopback(host) && !settings.publicUrl?.startsWith('https:'))
    return {
      problem: `${told}; ${reach}, and publicUrl (COUNTERFOIL_PUBLIC_URL) is not https: API keys can be read on the way`,
    };
  try {
    await checkPortsAreFree(settings);
    return { ok: `${told} is free; ${reach}` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await isServed(host, port))) return { ok: `${told} is served; ${reach}` };
    return { problem: `${told}: ${adviceOn(code)}` };
  }
}

function adviceOn(code: string | undefined): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'another program has it, or the payment port; end it, or set PORT or COUNTERFOIL_PAYMENT_PORT';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address; set HOST';
    case 'EACCES':
      return 'may not be listened on by this user; set PORT to 1024 or more';
    default:
      return `cannot be listened on (${code}); set HOST and PORT`;
  }
}

/** Whether it is a Counterfoil that has the port: this one, as far as can be told. */
async function isServed(host: string, port: number): Promise<boolean> {
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(processorCheckMsMax) });
    return (await answer.text()) === '{"statusCode":200,"body":{"status":"alive"}}';
  } catch {
    return false;
  }
}

async function processors(settings: Settings, engine: Engine): Promise<readonly Finding[]> {
  const known = [...(await openProcessors(settings, false)).values()];
  const configured = known.filter((processor) => processor !== undefined);
  if (configured.length === 0) return [{ ok: 'processors: none has a key in the settings' }];
  const findings = await Promise.all(
    configured.map(async (processor) => [
      await processorChecked(processor),
      ...(await otherAccounts(processor, engine)),
    ]),
  );
  return findings.flat();
}

/** Charges and refunds that wait for another account's key: with this one nothing is concluded about them. */
async function otherAccounts(processor: Processor, engine: Engine): Promise<readonly Finding[]> {
  const account = await processor.account(processorCheckMsMax);
  if (account.kind === 'withheld') {
    const told = `processor ${processor.name}: the key may not read its account, so that a key of another account would go unnoticed`;
    return [{ problem: `${told}; give it the permission to read the account` }];
  }
  if (account.kind === 'unknown') return [];
  const others = await openOfOtherAccounts(engine, processor.name, account.id);
  if (others.length === 0) return [{ ok: `processor ${processor.name}: account ${account.id}` }];
  const [first] = others;
  const problem = `processor ${processor.name}: ${others.length} open payments, ${first} for instance, were made under another account than ${account.id}; put back the key of that account until they have ended`;
  return [{ problem }];
}

async function processorChecked(processor: Processor): Promise<Finding> {
  const { name } = processor;
  const check = await processor.check(processorCheckMsMax);
  switch (check.kind) {
    case 'well':
      return { ok: `processor ${name}: answers, and takes the key` };
    case 'refused':
      return {
        problem: `processor ${name}: does not take the key of the settings, or it may do too little (${check.detail}); look at it on the processor's own pages`,
      };
    case 'unknown':
      return {
        problem: `processor ${name}: cannot be reached (${check.detail}); look at the network, and at the API base of the settings`,
      };
  }
}

import { isLoopback } from '../../origins.ts';
import { processorCheckMsMax } from '../../payments/limits.ts';
import type { Settings } from '../../settings/schema.ts';
import { checkPortsAreFree } from '../listeners.ts';
import { type Finding, ok, problem } from './finding.ts';

type Place = Pick<Settings, 'host' | 'port' | 'publicUrl'>;

/** Checks who can reach the service, and that API keys cannot be read on the way. It has the address. */
export function reachCheck(settings: Place): Finding {
  return exposedKeys(settings) ?? ok('address', `${textOf(settings)} is served; ${reachOf(settings)}`);
}

/** As `reachCheck`, and that the service has the address, or can have it. */
export async function addressCheck(settings: Settings): Promise<Finding> {
  const exposed = exposedKeys(settings);
  if (exposed !== undefined) return exposed;
  const text = textOf(settings);
  try {
    await checkPortsAreFree(settings);
    return ok('address', `${text} is free; ${reachOf(settings)}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await isServed(settings))) return reachCheck(settings);
    const { message, action } = adviceOn(code);
    return problem('address', `${text}: ${message}`, action);
  }
}

function exposedKeys(settings: Place): Finding | undefined {
  if (isLoopback(settings.host) || settings.publicUrl?.startsWith('https:')) return undefined;
  return problem(
    'address',
    `${textOf(settings)}; ${reachOf(settings)}, and publicUrl (COUNTERFOIL_PUBLIC_URL) is not https: API keys can be read in transit`,
  );
}

function textOf({ host, port }: Place): string {
  return `${host}:${port}`;
}

function reachOf({ host }: Place): string {
  return isLoopback(host) ? 'only this machine can reach it' : 'other machines can reach it';
}

function adviceOn(code: string | undefined): { readonly message: string; readonly action: string } {
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

/** Whether a Counterfoil service has the port; which one it is remains unknown. */
async function isServed({ host, port }: Place): Promise<boolean> {
  try {
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/livez`;
    const response = await fetch(url, { signal: AbortSignal.timeout(processorCheckMsMax) });
    return (await response.text()) === '{"statusCode":200,"body":{"status":"alive"}}';
  } catch {
    return false;
  }
}

import { type Service, startService } from '../app/service.ts';
import type { Settings } from '../settings/schema.ts';
import { commandSettings } from './command-settings.ts';
import { giveMemoryBackWhenIdle, keepRequestsYoung } from './memory.ts';

export interface ServeOptions {
  readonly simulate?: boolean;
  /** The number of processes. */
  readonly workers?: number;
}

export interface WorkerOptions {
  readonly simulate?: boolean;
  readonly processes?: number;
  /** Where other processes serve already. */
  readonly origin?: string;
  readonly paymentOrigin?: string;
}

/** `counterfoil serve`: runs until SIGTERM or SIGINT. Throws SettingsError with all settings that are invalid. */
export async function serve({ simulate = false, workers: count = 1 }: ServeOptions): Promise<void> {
  keepRequestsYoung();
  const settings = await commandSettings(simulate);
  if (count === 1) return serveAlone(settings, simulate);
  const { serveByWorkers } = await import('./workers.ts');
  const ready = await serveByWorkers(settings, { simulate, count });
  if (ready !== undefined) process.stdout.write(readyLine(ready, simulate, count));
}

/** `counterfoil worker`: one process of `serve --workers`. */
export async function work(options: WorkerOptions): Promise<void> {
  const { simulate = false, processes: count = 1, origin, paymentOrigin = origin } = options;
  const joins = origin === undefined || paymentOrigin === undefined ? undefined : { origin, paymentOrigin };
  keepRequestsYoung();
  try {
    const settings = await commandSettings(simulate);
    await (await import('./workers.ts')).serveAsWorker(settings, { simulate, count }, joins);
  } catch (error) {
    // The open channel to the parent process would keep this one alive.
    process.disconnect?.();
    throw error;
  }
}

async function serveAlone(settings: Settings, simulate: boolean): Promise<void> {
  const service = await startService(settings, { simulate });
  process.stdout.write(readyLine(service, simulate, 1));
  giveMemoryBackWhenIdle();
  const stop = () => {
    // A second signal exits at once.
    process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
    void service.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}

/** The only line on standard output: the service is ready at this address. */
function readyLine(
  { origin, paymentOrigin, isOpen }: Pick<Service, 'origin' | 'paymentOrigin' | 'isOpen'>,
  simulate: boolean,
  count: number,
): string {
  const payments = paymentOrigin === origin ? '' : `, payments on ${paymentOrigin}`;
  const workers = count === 1 ? '' : `, ${count} workers`;
  const simulated = simulate ? ', with a simulated processor that moves no money' : '';
  // A proxy is such a program, and not every one can be recognized.
  const open = isOpen
    ? ', open without an API key to all programs on this machine, a proxy included'
    : ', requests need an API key';
  return `Counterfoil is ready on ${origin}${payments}${workers}${simulated}${open}\n`;
}

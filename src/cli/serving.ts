import { setFlagsFromString } from 'node:v8';
import { startService } from '../app/service.ts';
import type { Settings } from '../settings/schema.ts';
import { commandSettings } from './command-settings.ts';
import { giveMemoryBackWhenIdle } from './idle-memory.ts';
import { readyLine } from './ready-line.ts';

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
  if (count === 1) await serveAlone(settings, simulate);
  else await (await import('./workers.ts')).serveByWorkers(settings, { simulate, count });
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
  process.stdout.write(readyLine(service, { simulate, count: 1 }));
  giveMemoryBackWhenIdle();
  const stop = () => {
    // A second signal exits at once.
    process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
    void service.stop().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}

/**
 * V8 creates objects as old ones where it has seen them survive. Here it then takes the objects of requests for long-lived, all of
 * them outlive their request, and garbage collection takes a third of the processor (docs/decisions/small-requests.md).
 */
function keepRequestsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}

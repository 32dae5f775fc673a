import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkPortsAreFree, type SharedOrigins } from '../app/listeners.ts';
import { retryStart, type Service, startService } from '../app/service.ts';
import { defined } from '../defined.ts';
import { stopMsMax } from '../lifecycle.ts';
import { type Log, openLog } from '../log.ts';
import type { Settings } from '../settings/schema.ts';
import { giveMemoryBackWhenIdle } from './memory.ts';
import { gatherFromWorkers, type MetricsMessage, WorkerMetrics } from './worker-metrics.ts';

/** The delay before a failed worker is started again: doubled each time, from the minimum to the maximum. */
const workerDelayMsMin = 100;
const workerDelayMsMax = 10_000;

/** What a worker sends to the parent process. */
type Ready = Pick<Service, 'origin' | 'paymentOrigin' | 'isOpen'>;
type Message = (Ready & { readonly kind: 'ready' }) | MetricsMessage;

/** How a worker ended before it was ready: with a status, or by a signal. */
class WorkerFailed extends Error {
  readonly status: number;
  /** By a signal: then the worker has not written the reason. */
  readonly isKilled: boolean;

  constructor(status: number | null, signal: string | null) {
    super(`a worker ended ${exitReason(status, signal)} before it was ready`);
    this.status = status ?? 1;
    this.isKilled = status === null;
  }
}

function exitReason(status: number | null, signal: string | null): string {
  return signal === null ? `with status ${status}` : `by ${signal}`;
}

interface Plan {
  readonly simulate: boolean;
  readonly count: number;
}

/**
 * Runs several processes on one port and one data folder. The kernel distributes connections among them (SO_REUSEPORT). A
 * worker that dies is replaced. SIGTERM and SIGINT stop all of them.
 *
 * @returns where they serve; undefined if they could not start, which is then reported
 */
export async function serveByWorkers(settings: Settings, plan: Plan): Promise<Ready | undefined> {
  // Without this check the workers would silently share their port with the workers of another service.
  const log = openLog(settings.logLevel);
  await retryStart(log, () => checkPortsAreFree(settings));
  const env = { ...process.env };
  const workers = new WorkerGroup(log, plan, env);
  process.once('SIGTERM', () => workers.stop()).once('SIGINT', () => workers.stop());
  try {
    // The first worker creates the store and the master key before the others open them.
    const ready = await workers.start();
    Object.assign(env, portVariables(ready));
    workers.joins = ready;
    await Promise.all(Array.from({ length: plan.count - 1 }, () => workers.start()));
    return ready;
  } catch (error) {
    if (!(error instanceof WorkerFailed)) throw error;
    if (error.isKilled) log.error('worker_not_started', { detail: error.message });
    log.flush();
    // A worker that exits by itself has written the reason.
    process.exitCode = error.status;
    workers.stop();
    return undefined;
  }
}

/** Serves as one of several workers, until SIGTERM or until the parent process is gone. */
export async function serveAsWorker(
  settings: Settings,
  { simulate, count }: Plan,
  joins: SharedOrigins | undefined,
): Promise<void> {
  // Ctrl-C reaches every process of the terminal; the parent process forwards it as SIGTERM.
  process.on('SIGINT', () => undefined);
  const service = await startService(settings, {
    simulate,
    processes: count,
    sharesPort: true,
    joins,
    gatherMetrics: gatherFromWorkers,
  });
  const stop = () => void service.stop().then(() => process.exit(0));
  process.once('SIGTERM', stop).once('disconnect', stop);
  const { origin, paymentOrigin, isOpen } = service;
  giveMemoryBackWhenIdle();
  process.send?.({ kind: 'ready', origin, paymentOrigin, isOpen } satisfies Message);
}

/** The ports of the first worker, for the others. */
function portVariables({ origin, paymentOrigin }: Ready): NodeJS.ProcessEnv {
  const ports = { PORT: new URL(origin).port };
  if (paymentOrigin === origin) return ports;
  return { ...ports, COUNTERFOIL_PAYMENT_PORT: new URL(paymentOrigin).port };
}

/** Ignores other messages: a worker may be scraped before it reports that it is ready. */
function readyMessage(worker: ChildProcess): Promise<Ready> {
  return new Promise((resolve) => {
    worker.on('message', (message: Message) => {
      if (message.kind === 'ready') resolve(message);
    });
  });
}

class WorkerGroup {
  readonly #log: Log;
  readonly #plan: Plan;
  readonly #env: NodeJS.ProcessEnv;
  readonly #workers = new Set<ChildProcess>();
  readonly #metrics = new WorkerMetrics();
  /** Set once a worker is ready: each later one accepts connections only when it can serve them. */
  joins: SharedOrigins | undefined;
  #isStopping = false;
  #delayMs = workerDelayMsMin;

  /** @param env read at each start of a worker */
  constructor(log: Log, plan: Plan, env: NodeJS.ProcessEnv) {
    this.#log = log;
    this.#plan = plan;
    this.#env = env;
  }

  /** Resolves when the worker is ready, rejects with WorkerFailed if it ends earlier. A worker that ends later is replaced. */
  async start(): Promise<Ready> {
    const { simulate, count } = this.#plan;
    const args = ['worker', '--processes', String(count), ...(simulate ? ['--simulate'] : [])];
    if (this.joins !== undefined)
      args.push('--origin', this.joins.origin, '--payment-origin', this.joins.paymentOrigin);
    const worker = fork(process.argv[1] as string, args, { env: this.#env });
    this.#workers.add(worker);
    const ended = (once(worker, 'exit') as Promise<[number | null, string | null]>).finally(() => {
      this.#workers.delete(worker);
    });
    const ready = await Promise.race([
      readyMessage(worker),
      ended.then(([status, signal]) => {
        throw new WorkerFailed(status, signal);
      }),
    ]);
    this.#metrics.add(worker);
    void ended.then(([status, signal]) => this.#replace(worker.pid, signal ?? `status ${status}`));
    return ready;
  }

  stop(): void {
    this.#isStopping = true;
    for (const worker of this.#workers) worker.kill('SIGTERM');
    const late = setTimeout(() => {
      for (const worker of this.#workers) worker.kill('SIGKILL');
    }, stopMsMax);
    void Promise.all(Array.from(this.#workers, (worker) => once(worker, 'exit'))).then(() => {
      clearTimeout(late);
      process.exit();
    });
  }

  async #replace(pid: number | undefined, end: string): Promise<void> {
    if (this.#isStopping) return;
    this.#log.error('worker_died', { ...defined({ pid }), detail: end });
    while (!this.#isStopping) {
      try {
        await this.start();
        this.#delayMs = workerDelayMsMin;
        return;
      } catch (error) {
        this.#log.error('worker_not_started', { detail: (error as Error).message });
        await sleep(this.#delayMs);
        this.#delayMs = Math.min(2 * this.#delayMs, workerDelayMsMax);
      }
    }
  }
}

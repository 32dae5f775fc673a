import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopMsMax, workerDelayMsMax, workerDelayMsMin } from '../limits.ts';
import { type Log, openLog } from '../log.ts';
import { type Service, serveSimulatedLedger, startService } from '../main.ts';
import type { Settings } from '../settings/schema.ts';
import { readyLine } from './ready-line.ts';

/** What a worker tells the process that started it. */
type Ready = Pick<Service, 'origin' | 'paymentOrigin'>;

/** How a worker ended before it was ready. */
class WorkerFailed extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`a worker ended with status ${status} before it was ready`);
    this.status = status;
  }
}

interface Plan {
  readonly simulate: boolean;
  readonly count: number;
}

/**
 * Several processes on one port and one data folder. This one takes connections and hands them to the workers in
 * turns; a worker that dies is replaced. SIGTERM and SIGINT stop all of them.
 */
export async function serveByWorkers(settings: Settings, plan: Plan): Promise<void> {
  const env = await workerEnvironment(settings, plan.simulate);
  const crew = new Crew(openLog(settings.logLevel), env);
  process.once('SIGTERM', () => crew.stop()).once('SIGINT', () => crew.stop());
  try {
    // The first one makes what there is only one of, the store and the master key, before the others look for it.
    const ready = await crew.start();
    await Promise.all(Array.from({ length: plan.count - 1 }, () => crew.start()));
    process.stdout.write(readyLine(ready, plan));
  } catch (error) {
    if (!(error instanceof WorkerFailed)) throw error;
    // It has said why.
    process.exitCode = error.status;
    crew.stop();
  }
}

/** One of several: stops when it is told to, or when the process that started it is gone. */
export async function serveAsWorker(settings: Settings, simulate: boolean): Promise<void> {
  // Ctrl-C reaches every process of the terminal; the one that started this passes it on as SIGTERM.
  process.on('SIGINT', () => undefined);
  const service = await startService(settings, { simulate });
  const stop = () => void service.stop().then(() => process.exit(0));
  process.once('SIGTERM', stop).once('disconnect', stop);
  const { origin, paymentOrigin } = service;
  process.send?.({ origin, paymentOrigin } satisfies Ready);
}

/** Workers share one simulated processor, as they would a real one. */
async function workerEnvironment({ simulated }: Settings, simulate: boolean): Promise<NodeJS.ProcessEnv> {
  if (!simulate || simulated.ledger !== undefined) return {};
  return { COUNTERFOIL_SIMULATED_LEDGER: (await serveSimulatedLedger()).origin };
}

class Crew {
  readonly #log: Log;
  readonly #env: NodeJS.ProcessEnv;
  #isStopping = false;
  #delayMs = workerDelayMsMin;

  constructor(log: Log, env: NodeJS.ProcessEnv) {
    this.#log = log;
    this.#env = env;
  }

  /** Resolves when the worker is ready; rejects with WorkerFailed when it ends before. Later it is replaced. */
  async start(): Promise<Ready> {
    const worker = cluster.fork(this.#env);
    const ended = once(worker, 'exit') as Promise<[number | null, string | null]>;
    const ready = await Promise.race([
      once(worker, 'message').then(([message]) => message as Ready),
      ended.then(([status]) => {
        throw new WorkerFailed(status ?? 1);
      }),
    ]);
    void ended.then(([status, signal]) => this.#replace(worker, status, signal));
    return ready;
  }

  stop(): void {
    this.#isStopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    for (const worker of workers) worker.process.kill('SIGTERM');
    const late = setTimeout(() => {
      for (const worker of workers) worker.process.kill('SIGKILL');
    }, stopMsMax);
    void Promise.all(workers.map((worker) => worker.isDead() || once(worker, 'exit'))).then(() => {
      clearTimeout(late);
      process.exit();
    });
  }

  async #replace(worker: Worker, status: number | null, signal: string | null): Promise<void> {
    while (!this.#isStopping) {
      const { pid = 0 } = worker.process;
      this.#log.error('worker_died', { pid, detail: signal ?? `status ${status}` });
      try {
        await this.start();
        this.#delayMs = workerDelayMsMin;
        return;
      } catch {
        await sleep(this.#delayMs);
        this.#delayMs = Math.min(2 * this.#delayMs, workerDelayMsMax);
      }
    }
  }
}

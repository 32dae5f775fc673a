import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from './busy-machine.ts';

export interface ServeOptions {
  readonly data: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The content of `counterfoil.json`. */
  readonly settings?: unknown;
  /** Whether the simulated processor is enabled. */
  readonly simulate?: boolean;
  /** The number of processes that share the port and the data folder; with 1, no option is passed. */
  readonly workers?: number;
  /** Whether it sheds requests when its event loop is late; false by default, because tests share the machine. */
  readonly shedsLate?: boolean;
}

const unhurried = join(import.meta.dirname, 'unhurried.ts');

/** If the tests run on DynamoDB, the tables of a data folder are created before its first service. */
const dynamo = process.env.TEST_STORE === 'dynamodb' ? await import('./dynamodb/environment.ts') : undefined;
/** Data folders that a service was ready on. */
const served = new Set<string>();

function commandOf(data: string, args: readonly string[]): [string, string[]] {
  if (dynamo === undefined || served.has(data)) return [process.execPath, [program, ...args]];
  const script = '"$0" "$1" store init >/dev/null && exec "$0" "$@"';
  return ['/bin/sh', ['-c', script, process.execPath, program, ...args]];
}

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
/** Workers that outlive the first process keep its standard error open, so the wait for its end is limited. */
const outputMsMax = 1_000;
const running = new Set<ServeProcess>();

/** `counterfoil serve` in its own process group, so that no process is left behind. */
export class ServeProcess {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #began = performance.now();
  readonly #ended: Promise<unknown>;
  readonly #outputClosed: Promise<unknown>;
  readonly #ready: Promise<string>;
  #errors = '';
  #readyMs = 0;

  private constructor({
    data,
    env = {},
    settings = {},
    simulate = false,
    workers = 1,
    shedsLate = false,
  }: ServeOptions) {
    // It runs in a new folder, so that it finds no other settings file.
    this.#folder = mkdtempSync(join(tmpdir(), 'counterfoil-serve-'));
    writeFileSync(join(this.#folder, 'counterfoil.json'), JSON.stringify(settings));
    const options = [
      ...(simulate ? ['--simulate'] : []),
      ...(workers > 1 ? ['--workers', `${workers}`] : []),
    ];
    const store = dynamo?.environmentOf(data) ?? {};
    const nodeOptions = [env.NODE_OPTIONS, ...(shedsLate ? [] : [`--import=${unhurried}`])]
      .filter(Boolean)
      .join(' ');
    this.#child = spawn(...commandOf(data, ['serve', ...options]), {
      cwd: this.#folder,
      env: {
        PORT: '0',
        COUNTERFOIL_DATA: data,
        COUNTERFOIL_LOG_LEVEL: 'error',
        ...store,
        ...env,
        NODE_OPTIONS: nodeOptions,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#child.stderr?.on('data', (bytes: Buffer) => {
      this.#errors += bytes;
    });
    this.#ended = once(this.#child, 'exit');
    this.#outputClosed = once(this.#child.stderr as NodeJS.ReadableStream, 'close');
    this.#ready = this.#firstOrigin();
    // A test that kills a starting service does not wait until it is ready.
    this.#ready.then(() => served.add(data)).catch(() => undefined);
    running.add(this);
  }

  /** Starts the service without waiting; it is killed after the test if it still runs. */
  static spawn(t: TestContext, options: ServeOptions): ServeProcess {
    const service = new ServeProcess(options);
    startedBy(t).services.add(service);
    return service;
  }

  /** Starts the service and waits until it is ready. */
  static async start(t: TestContext, options: ServeOptions): Promise<ServeProcess> {
    const service = ServeProcess.spawn(t, options);
    await service.ready();
    return service;
  }

  /** Kills only the first process with SIGKILL; resolves when the others have ended by themselves. */
  async killFirst(): Promise<void> {
    const { pids } = this;
    this.#child.kill('SIGKILL');
    await this.#ended;
    for (const pid of pids) await gone(pid);
    this.#forget();
  }

  /** Kills every service that this process has started with SIGKILL. */
  static async killAll(): Promise<void> {
    for (const service of [...running]) await service.kill();
  }

  /** Resolves with the origin; rejects with the output of the service if it ends before it is ready. */
  ready(): Promise<string> {
    return this.#ready;
  }

  /** The time from its start until it was ready. */
  get readyMs(): number {
    return this.#readyMs;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Its standard error so far. */
  get errors(): string {
    return this.#errors;
  }

  /** All its processes, the first one first. */
  get pids(): readonly number[] {
    return [this.pid, ...childrenOf(this.pid)];
  }

  get workerPids(): readonly number[] {
    return childrenOf(this.pid);
  }

  /** Kills all its processes at once with SIGKILL; resolves when they have ended. */
  async kill(): Promise<void> {
    const { pids } = this;
    this.#signalGroup();
    await this.#ended;
    for (const pid of pids) await gone(pid);
    this.#forget();
  }

  /** Sends SIGTERM; resolves with the exit code. */
  async terminate(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.ended();
  }

  /** Resolves with the exit code when it has ended by itself; with null if a signal ended it. */
  async ended(): Promise<number | null> {
    await this.#ended;
    // Its last output may not have arrived yet.
    await Promise.race([this.#outputClosed, sleep(outputMsMax, undefined, { ref: false })]);
    this.#forget();
    return this.#child.exitCode;
  }

  /** Kills it without waiting, at the end of this process. */
  endAtOnce(): void {
    this.#signalGroup();
    this.#forget();
  }

  async #firstOrigin(): Promise<string> {
    for await (const line of createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })) {
      const origin = /ready on (http:\/\/\S+?),? /.exec(`${line} `)?.[1];
      if (origin === undefined) continue;
      this.#readyMs = performance.now() - this.#began;
      return origin;
    }
    await this.#ended;
    throw new Error(`the service ended with ${this.#child.exitCode} before it was ready: ${this.#errors}`);
  }

  #signalGroup(): void {
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // The process group has ended already.
    }
  }

  #forget(): void {
    running.delete(this);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** What a test has started. */
interface Started {
  readonly services: Set<ServeProcess>;
  readonly folders: string[];
}

const startedByTest = new WeakMap<TestContext, Started>();

/** A data folder. It and the key file next to it are removed after the test, when its services have ended. */
export function newData(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-data-'));
  startedBy(t).folders.push(folder);
  return join(folder, 'data');
}

/** Registers one hook per test, however many services it starts. */
function startedBy(t: TestContext): Started {
  const known = startedByTest.get(t);
  if (known !== undefined) return known;
  const { services, folders }: Started = { services: new Set(), folders: [] };
  startedByTest.set(t, { services, folders });
  t.after(async () => {
    for (const service of services) if (running.has(service)) await service.kill();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  return { services, folders };
}

// A Ctrl-C in the terminal does not reach a separate process group.
process.once('exit', () => {
  for (const service of running) service.endAtOnce();
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Reads the child processes from /proc; on systems without it none are found. */
function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Waits for the end of a process. A zombie counts as ended. */
async function gone(pid: number): Promise<void> {
  const giveUpAt = Date.now() + givenUpMs;
  while (isAlive(pid)) {
    if (Date.now() > giveUpAt) throw new Error(`process ${pid} outlives its kill`);
    await sleep(1);
  }
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

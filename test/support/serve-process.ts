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
  /** What `counterfoil.json` says. */
  readonly settings?: unknown;
  /** Whether the simulated processor is served. */
  readonly simulate?: boolean;
  /** Processes that share the port and the data folder; 1, and no option, is the service as one process. */
  readonly workers?: number;
  /** Whether it sheds requests when the event loop is late, as a service does; not by default, because tests share the machine. */
  readonly shedsLate?: boolean;
}

const unhurried = join(import.meta.dirname, 'unhurried.ts');

/** Where the tests are to run on DynamoDB, its tables are made first. */
const dynamo = process.env.TEST_STORE === 'dynamodb' ? await import('./dynamodb/environment.ts') : undefined;

function commandOf(args: readonly string[]): [string, string[]] {
  if (dynamo === undefined) return [process.execPath, [program, ...args]];
  const script = '"$0" "$1" store init >/dev/null && exec "$0" "$@"';
  return ['/bin/sh', ['-c', script, process.execPath, program, ...args]];
}

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
/** Its workers may outlive it, and have its standard error. */
const outputMsMax = 1_000;
const running = new Set<ServeProcess>();

/** `counterfoil serve` as processes of their own, in a process group of their own, so that none is left behind. */
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
    // A folder of its own, so that no other settings file is found.
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
    this.#child = spawn(...commandOf(['serve', ...options]), {
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
    // Who kills a service that is still starting does not wait for it.
    this.#ready.catch(() => undefined);
    running.add(this);
  }

  /** Starts it and does not wait; killed after the test if it still runs. */
  static spawn(t: TestContext, options: ServeOptions): ServeProcess {
    const service = new ServeProcess(options);
    begunBy(t).services.add(service);
    return service;
  }

  /** Starts it and waits until it is ready. */
  static async start(t: TestContext, options: ServeOptions): Promise<ServeProcess> {
    const service = ServeProcess.spawn(t, options);
    await service.ready();
    return service;
  }

  /** `kill -9` of the first process alone; resolves when the others have followed it by themselves. */
  async killFirst(): Promise<void> {
    const { pids } = this;
    this.#child.kill('SIGKILL');
    await this.#ended;
    for (const pid of pids) await gone(pid);
    this.#forget();
  }

  /** `kill -9` of every service that this process has started. */
  static async killAll(): Promise<void> {
    for (const service of [...running]) await service.kill();
  }

  /** Resolves with the origin; rejects, with what the service had to say, when it ends before it is ready. */
  ready(): Promise<string> {
    return this.#ready;
  }

  /** From its start to its being ready. */
  get readyMs(): number {
    return this.#readyMs;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** What it has written to standard error so far. */
  get errors(): string {
    return this.#errors;
  }

  /** All of its processes, the first one first. */
  get pids(): readonly number[] {
    return [this.pid, ...childrenOf(this.pid)];
  }

  get workerPids(): readonly number[] {
    return childrenOf(this.pid);
  }

  /** `kill -9` of all its processes at once; resolves when they are gone. */
  async kill(): Promise<void> {
    const { pids } = this;
    this.#signalGroup();
    await this.#ended;
    for (const pid of pids) await gone(pid);
    this.#forget();
  }

  /** SIGTERM; resolves with the exit code. */
  async terminate(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.ended();
  }

  /** Resolves with the exit code, when it has ended by itself; null when a signal ended it. */
  async ended(): Promise<number | null> {
    await this.#ended;
    // What it has said last may still be on its way.
    await Promise.race([this.#outputClosed, sleep(outputMsMax, undefined, { ref: false })]);
    this.#forget();
    return this.#child.exitCode;
  }

  /** For the end of a test and of this process: nothing is waited for. */
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
      // There is nobody left in the group.
    }
  }

  #forget(): void {
    running.delete(this);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** What a test has begun. */
interface Begun {
  readonly services: Set<ServeProcess>;
  readonly folders: string[];
}

const begun = new WeakMap<TestContext, Begun>();

/** A folder for data that is removed, with the key beside it, after the test, when its services have ended. */
export function newData(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-data-'));
  begunBy(t).folders.push(folder);
  return join(folder, 'data');
}

/** One hook per test, however much it begins. */
function begunBy(t: TestContext): Begun {
  const known = begun.get(t);
  if (known !== undefined) return known;
  const { services, folders }: Begun = { services: new Set(), folders: [] };
  begun.set(t, { services, folders });
  t.after(async () => {
    for (const service of services) if (running.has(service)) await service.kill();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  return { services, folders };
}

// A process group of its own does not hear a Ctrl-C at the terminal.
process.once('exit', () => {
  for (const service of running) service.endAtOnce();
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** As Linux tells it; elsewhere none are found, and the tests that need them say so. */
function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** A process that nobody has buried yet counts as gone: it does nothing any more. */
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

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than any start needs, so that only a hanging program reaches it. */
const startMsMax = 30_000;
/** The service exits within 10 s. */
const stopMsMax = 12_000;
/** Far more than any program of a case needs, so that a hanging program does not block the whole run. */
const runMsMax = 600_000;
/** The folders of servers such as nginx on Debian, which are not on every user's path. */
const systemFolders = ['/usr/sbin', '/sbin'];
/** The last lines of a failed program show the reason. */
const tailCharactersMax = 4_000;

export interface Program {
  readonly child: ChildProcess;
  /** Rejects when the program ends or cannot be started; never resolves. For `Promise.race`. */
  readonly failed: Promise<never>;
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The working folder; by default the folder of the environment. */
  readonly folder?: string;
}

export interface RunOptions extends ProgramOptions {
  /** A run that takes longer is killed, and fails. */
  readonly msMax?: number;
}

/** The folder and the processes of one case. `close` removes them. */
export class Environment {
  readonly folder = mkdtempSync(join(tmpdir(), 'counterfoil-bench-'));
  readonly #children = new Set<ChildProcess>();
  #isClosed = false;

  start(command: string, args: readonly string[], options: ProgramOptions = {}): Program {
    if (this.#isClosed) throw new Error('the case is over');
    const { env = {}, folder = this.folder } = options;
    const child = spawn(command, args, {
      cwd: folder,
      env: { ...shellEnvironment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Makes it the leader of a process group, which `stopGroup` stops as a whole.
      detached: true,
    });
    this.#children.add(child);
    child.once('close', () => this.#children.delete(child));
    return { child, failed: failureOf(command, child) };
  }

  /** Runs a program to its end. @returns what it wrote to standard output */
  async run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
    const program = this.start(command, args, options);
    const { child, failed } = program;
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    try {
      await within(options.msMax ?? runMsMax, failed);
    } catch (error) {
      if (child.exitCode !== 0) throw error;
    } finally {
      await this.stop(program);
    }
    return text;
  }

  async stop({ child }: Program): Promise<void> {
    if (this.#children.has(child)) await stopGroup(child);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#children].map(stopGroup));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits for the first matching line on standard output. */
export async function firstLine(
  { child, failed }: Program,
  matches: (line: string) => boolean,
  msMax = startMsMax,
): Promise<string> {
  let text = '';
  const found = new Promise<string>((resolve) => {
    child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
      const lines = `${text}${piece}`.split('\n');
      text = lines.pop() ?? '';
      const line = lines.find(matches);
      if (line !== undefined) resolve(line);
    });
  });
  return within(msMax, Promise.race([found, failed]));
}

/** Rejects when the work takes longer than `msMax`. */
export async function within<Result>(msMax: number, work: Promise<Result>): Promise<Result> {
  const done = new AbortController();
  const late = sleep(msMax, undefined, { signal: done.signal }).then(() => {
    throw new Error(`timed out after ${msMax / 1_000} s`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => undefined);
    done.abort();
  }
}

/**
 * The environment variables of a plain shell: without those that `npm run bench` adds, such as the path of another Node
 * for npm itself, and without the settings of the user's own service.
 */
export function shellEnvironment(): NodeJS.ProcessEnv {
  const added = /^(npm_.*|INIT_CWD|NODE|COUNTERFOIL_.*|(HOST|PORT)(_FILE)?)$/;
  const own = Object.entries(process.env).filter(([name]) => !added.test(name));
  const folders = (process.env.PATH ?? '').split(delimiter);
  const path = folders.filter((folder) => !/node_modules\/\.bin$|node-gyp-bin$/.test(folder));
  return { ...Object.fromEntries(own), PATH: [...path, ...systemFolders].join(delimiter) };
}

function failureOf(command: string, child: ChildProcess): Promise<never> {
  let tail = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    tail = `${tail}${piece}`.slice(-tailCharactersMax);
  });
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${command} cannot be started: ${error.message}`)));
    child.once('close', (code, signal) => {
      reject(new Error(`${command} ended (${signal ?? `exit code ${code}`})\n${tail}`.trimEnd()));
    });
  });
  // Every program ends; only a caller that awaits `failed` treats that as an error.
  failed.catch(() => undefined);
  return failed;
}

/**
 * Stops a program and all processes that it has started: npm forwards a signal only to its shell, so that the service
 * under that shell would keep running. The processes share their output, which closes when the last of them has ended.
 */
async function stopGroup(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const closed = once(child, 'close');
  signalGroup(pid, 'SIGTERM');
  try {
    await within(stopMsMax, closed);
  } catch {
    signalGroup(pid, 'SIGKILL');
    await closed;
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // The group has ended in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

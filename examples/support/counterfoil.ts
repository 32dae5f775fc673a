import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export interface RunningService {
  readonly origin: string;
  /** The address of the payments: the same, unless the settings give them one of their own. */
  readonly paymentOrigin: string;
  /** Stops the service, waits for its end, and removes its data. */
  close(): Promise<void>;
}

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');

/** The service of an example: its data in a new folder, its settings in the folder of a `counterfoil.json`. */
export class Counterfoil {
  /** The data folder; `close` of the service removes it. */
  readonly data: string;
  readonly #parent = mkdtempSync(join(tmpdir(), 'counterfoil-example-'));
  readonly #settings: string;
  readonly #variables: Readonly<Record<string, string>>;

  /**
   * @param settings the folder of a `counterfoil.json`; without one, all settings have their defaults
   * @param variables more settings, as environment variables
   */
  constructor(settings?: string, variables: Readonly<Record<string, string>> = {}) {
    this.data = join(this.#parent, 'data');
    this.#settings = settings ?? this.#parent;
    this.#variables = variables;
  }

  /** Runs a command to its end, and returns what it prints. */
  async run(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
      cwd: this.#settings,
      env: this.#environment(),
    });
    return stdout.trim();
  }

  /** Starts the service in its own process, on free ports. */
  async serve(publicUrl: string, ...options: readonly string[]): Promise<RunningService> {
    const child = spawn(process.execPath, [program, 'serve', ...options], {
      cwd: this.#settings,
      env: { ...this.#environment(), PORT: '0', COUNTERFOIL_PUBLIC_URL: publicUrl },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const close = async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit');
        child.kill();
        await exited;
      }
      rmSync(this.#parent, { recursive: true, force: true });
    };
    for await (const line of createInterface({ input: child.stdout })) {
      const origin = /ready on (http:\/\/[^\s,]+)/.exec(line)?.[1];
      if (origin === undefined) continue;
      const paymentOrigin = /payments on (http:\/\/[^\s,]+)/.exec(line)?.[1] ?? origin;
      return { origin, paymentOrigin, close };
    }
    await close();
    throw new Error('the service did not start');
  }

  #environment(): Readonly<Record<string, string>> {
    return { ...this.#variables, COUNTERFOIL_DATA: this.data, COUNTERFOIL_LOG_LEVEL: 'warn' };
  }
}

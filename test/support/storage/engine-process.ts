import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Rejection, ScanOptions, Space, SpaceFacts, Write } from '../../../src/storage/engine.ts';

export interface EngineRequest {
  readonly number: number;
  readonly verb: string;
  readonly values: readonly unknown[];
}

export type EngineResponse =
  | { readonly number: number; readonly result: unknown }
  | { readonly number: number; readonly error: string };

const program = join(import.meta.dirname, 'engine-child.ts');

/** An engine in a process of its own. */
export class EngineProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #ended: Promise<unknown[]>;
  readonly opening: Promise<void>;
  readonly opened: Promise<void>;
  #requests = 0;
  errors = '';

  /** @param env variables beside those of this process */
  constructor(t: TestContext, folder: string, env: NodeJS.ProcessEnv = {}) {
    this.#child = fork(program, [folder], {
      execArgv: [],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    this.#child.stderr?.on('data', (bytes: Buffer) => {
      this.errors += bytes;
    });
    this.#ended = once(this.#child, 'exit');
    this.opening = this.#untilMessage('opening');
    this.opened = this.#untilMessage('open');
    for (const promise of [this.opening, this.opened]) promise.catch(() => undefined);
    this.#child.on('message', (message: EngineResponse | string) => this.#receive(message));
    void this.#ended.then(() => this.#failAll());
    t.after(() => this.kill());
  }

  static async open(t: TestContext, folder: string, env?: NodeJS.ProcessEnv): Promise<EngineProcess> {
    const engine = new EngineProcess(t, folder, env);
    await engine.opened;
    return engine;
  }

  get(space: Space, id: string): Promise<string | undefined> {
    return this.request('get', space, id) as Promise<string | undefined>;
  }

  describe(space: Space): Promise<SpaceFacts | undefined> {
    return this.request('describe', space) as Promise<SpaceFacts | undefined>;
  }

  text(space: Space, options: ScanOptions = {}): Promise<string | undefined> {
    return this.request('text', space, options) as Promise<string | undefined>;
  }

  commit(writes: readonly Write[]): Promise<Rejection | undefined> {
    return this.request('commit', writes) as Promise<Rejection | undefined>;
  }

  /** Sends a request to the process. Rejects with the error's code as its message. */
  request(verb: string, ...values: readonly unknown[]): Promise<unknown> {
    const number = this.#requests++;
    const response = Promise.withResolvers<unknown>();
    this.#waiting.set(number, response);
    this.#child.send({ number, verb, values } satisfies EngineRequest, (error) => {
      if (error !== null) response.reject(error);
    });
    return response.promise;
  }

  /** @returns the exit code, or the signal that ended it */
  async ended(): Promise<unknown> {
    const [code, signal] = await this.#ended;
    return code ?? signal;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #receive(message: EngineResponse | string): void {
    if (typeof message === 'string') return;
    const response = this.#waiting.get(message.number);
    this.#waiting.delete(message.number);
    if ('error' in message) response?.reject(new Error(message.error));
    else response?.resolve(message.result);
  }

  #untilMessage(word: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.on('message', (message) => {
        if (message === word) resolve();
      });
      void this.#ended.then(() => reject(new Error(`it ended before it sent "${word}": ${this.errors}`)));
    });
  }

  #failAll(): void {
    for (const response of this.#waiting.values()) response.reject(new Error('the process has ended'));
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

export interface ServiceProcess {
  readonly origin: string;
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  terminate(): Promise<number | null>;
}

export interface ServiceProcessOptions {
  readonly data: string;
  readonly env?: Readonly<Record<string, string>>;
}

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');

/** `counterfoil serve --simulate` as a process of its own, in an empty folder, so that no settings file is found. */
export async function startServiceProcess(
  t: TestContext,
  { data, env = {} }: ServiceProcessOptions,
): Promise<ServiceProcess> {
  const cwd = mkdtempSync(join(tmpdir(), 'counterfoil-process-'));
  const child = spawn(process.execPath, [program, 'serve', '--simulate'], {
    cwd,
    env: { PORT: '0', COUNTERFOIL_DATA: data, COUNTERFOIL_LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return (await ended)[0];
  };
  t.after(async () => {
    await end('SIGKILL');
    rmSync(cwd, { recursive: true, force: true });
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const origin = /ready on (http:\/\/\S+?),? /.exec(`${line} `)?.[1];
    if (origin === undefined) continue;
    return { origin, kill: () => end('SIGKILL').then(() => undefined), terminate: () => end('SIGTERM') };
  }
  throw new Error(`the service ended with ${child.exitCode} ${child.signalCode} before it was ready`);
}

/** One request to a service that may be killed meanwhile: then there is no answer. */
export async function tryToSend(
  url: string,
  init?: RequestInit,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const response = await fetch(url, init);
    return { status: response.status, text: await response.text() };
  } catch {
    return undefined;
  }
}

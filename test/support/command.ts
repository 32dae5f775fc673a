import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const dynamo = process.env.TEST_STORE === 'dynamodb' ? await import('./dynamodb/environment.ts') : undefined;

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');

export interface Ended {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

export interface Running {
  readonly pid: number;
  readonly ended: Promise<Ended>;
}

/** Runs a command of `counterfoil`, by default in a folder without a settings file, and waits for its end. @param input its standard input */
export function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = tmpdir(),
  input: string | Buffer = '',
): Promise<Ended> {
  return startCommand(args, env, cwd, input).ended;
}

/** The same without waiting. */
export function startCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = tmpdir(),
  input: string | Buffer = '',
): Running {
  const store = env.COUNTERFOIL_DATA === undefined ? {} : dynamo?.environmentOf(env.COUNTERFOIL_DATA);
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...store, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A command that fails may end before it has read everything.
  child.stdin.on('error', () => undefined).end(input);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const outputs = Promise.all([text(child.stdout), text(child.stderr)]);
  const end = async () => {
    const [output, errors] = await outputs;
    return { status: (await ended)[0], output, errors };
  };
  return { pid: child.pid as number, ended: end() };
}

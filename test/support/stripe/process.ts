import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { Command } from './control.ts';
import { StripeLedger } from './ledger.ts';
import type { StripeRecords } from './objects.ts';
import type { StripeRequest } from './request.ts';
import { StripeServer, secretKey } from './server.ts';

/** A scripted Stripe in a process of its own, so that it outlives a service that is killed, and can be killed too. */
export interface StripeProcess {
  readonly origin: string;
  /** The secret key that it takes. */
  readonly key: string;
  /** For instance `{ repair: true }`, or `{ set: { turnsAway: true } }`; see `Command` and `Switches`. */
  command(command: Command): Promise<void>;
  records(): Promise<StripeRecords>;
  /** Those since it was started last. */
  requests(): Promise<readonly StripeRequest[]>;
  /** With SIGKILL, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Under the same origin, remembering what stands in its folder. */
  start(): Promise<void>;
}

/**
 * Starts it on a free port; ended after the test. Run as a program this file is that process: it prints its origin,
 * and takes a folder and a port.
 *
 * @param folder where it keeps what it has answered; without one it forgets all when it is killed
 */
export async function startStripeProcess(t: TestContext, folder = ''): Promise<StripeProcess> {
  let { child, origin } = await spawned(folder, '0');
  t.after(() => child.kill('SIGKILL'));
  const control = async (init?: RequestInit) => {
    // A connection that is kept may be closed at the moment it is used again.
    const reply = await fetch(`${origin}/control`, { ...init, headers: { connection: 'close' } });
    return (await reply.json()) as { requests: StripeRequest[]; records: StripeRecords };
  };
  return {
    origin,
    key: secretKey,
    command: async (command) => void (await control({ method: 'POST', body: JSON.stringify(command) })),
    records: async () => (await control()).records,
    requests: async () => (await control()).requests,
    kill: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
    start: async () => {
      ({ child, origin } = await spawned(folder, new URL(origin).port));
    },
  };
}

async function spawned(folder: string, port: string): Promise<{ child: ChildProcess; origin: string }> {
  const child = spawn(process.execPath, [import.meta.filename, folder, port], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const origin of createInterface({ input: child.stdout })) return { child, origin };
  throw new Error(`the scripted Stripe ended with ${child.exitCode} before it listened`);
}

if (import.meta.main) {
  const [folder, port = '0'] = process.argv.slice(2);
  const server = new StripeServer(new StripeLedger(folder === '' ? undefined : folder));
  await server.listen(Number(port));
  process.stdout.write(`${server.origin}\n`);
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { Command } from './control.ts';
import { StripeLedger, secretKey } from './ledger.ts';
import type { StripeRecords } from './objects.ts';
import type { StripeRequest } from './request.ts';
import { StripeServer } from './server.ts';

/** A scripted Stripe in another process: it outlives a service that is killed, and can be killed too. */
export interface StripeProcess {
  readonly origin: string;
  /** The secret key that it accepts. */
  readonly key: string;
  /** For instance `{ repair: true }`, or `{ set: { turnsAway: true } }`; see `Command` and `Switches`. */
  command(command: Command): Promise<void>;
  records(): Promise<StripeRecords>;
  /** The requests since its last start. */
  requests(): Promise<readonly StripeRequest[]>;
  /** Kills it with SIGKILL, whatever it is doing. */
  kill(): Promise<void>;
  /** Starts it again with the same origin and the data of its folder. */
  start(): Promise<void>;
}

/**
 * Starts a scripted Stripe on a free port; killed after the test. The process runs this file with a folder and a port,
 * and prints its origin.
 *
 * @param folder where it stores its data; without one it forgets everything when it is killed
 */
export async function startStripeProcess(t: TestContext, folder = ''): Promise<StripeProcess> {
  let { child, origin } = await spawned(folder, '0');
  t.after(() => child.kill('SIGKILL'));
  const control = async (init?: RequestInit) => {
    // A kept-alive connection may be closed just when it is used again.
    const reply = await fetch(`${origin}/control`, { ...init, headers: { connection: 'close' } });
    if (!reply.ok) throw new RangeError(await reply.text());
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

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { LedgerCharge, LedgerRecords } from '../../../src/processors/simulated/ledger.ts';
import { MemoryLedger } from '../../../src/processors/simulated/memory-ledger.ts';
import { serveLedger } from './ledger-server.ts';

/** Serves a ledger of this process over HTTP; stopped after the test. */
export async function startLedger(
  t: TestContext,
  ledger: MemoryLedger,
): Promise<{ readonly origin: string }> {
  const server = await serveLedger(ledger);
  t.after(() => server.close());
  return server;
}

export interface LedgerProcess {
  readonly origin: string;
  charges(): Promise<readonly LedgerCharge[]>;
  records(): Promise<LedgerRecords>;
}

/** Starts a ledger in another process, which runs this file; killed after the test. */
export async function startLedgerProcess(t: TestContext): Promise<LedgerProcess> {
  const child = spawn(process.execPath, [import.meta.filename], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  for await (const origin of createInterface({ input: child.stdout })) {
    const records = async () => (await (await fetch(`${origin}/records`)).json()) as LedgerRecords;
    return { origin, records, charges: async () => (await records()).charges };
  }
  throw new Error(`the ledger ended with ${child.exitCode} before it listened`);
}

if (import.meta.main) {
  process.stdout.write(`${(await serveLedger(new MemoryLedger())).origin}\n`);
}

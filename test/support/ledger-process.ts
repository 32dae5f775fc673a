import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { json as readJson } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import {
  type LedgerCharge,
  type LedgerRequest,
  MemoryLedger,
} from '../../src/processors/simulated-ledger.ts';

/**
 * The simulated processor's side of the wire over HTTP, so that it outlives a service which is killed: `POST
 * /charges` answers as the ledger does, `GET /charges` tells the charges it has made. A lost reply is a connection
 * that ends without one. Run as a program it listens on a free port of loopback and prints its origin.
 */
async function serveLedger(ledger: MemoryLedger): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method === 'GET') answer(response, ledger.charges);
    else void answerCharge(ledger, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function answerCharge(
  ledger: MemoryLedger,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reply = await ledger.charge((await readJson(request)) as LedgerRequest);
  if (reply.kind === 'lost') request.socket.destroy();
  else answer(response, reply);
}

function answer(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A ledger in this process, over HTTP; stopped after the test. */
export async function startLedger(
  t: TestContext,
  ledger: MemoryLedger,
): Promise<{ readonly origin: string }> {
  const server = await serveLedger(ledger);
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: originOf(server) };
}

/** A ledger in a process of its own; ended after the test. */
export async function startLedgerProcess(
  t: TestContext,
): Promise<{ readonly origin: string; charges(): Promise<LedgerCharge[]> }> {
  const child = spawn(process.execPath, [import.meta.filename], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  for await (const origin of createInterface({ input: child.stdout })) {
    return {
      origin,
      charges: async () => (await (await fetch(`${origin}/charges`)).json()) as LedgerCharge[],
    };
  }
  throw new Error(`the ledger ended with ${child.exitCode} before it listened`);
}

if (import.meta.main) {
  process.stdout.write(`${originOf(await serveLedger(new MemoryLedger()))}\n`);
}

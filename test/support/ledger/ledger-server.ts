import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import type { LedgerRefundRequest, LedgerRequest } from '../../../src/processors/simulated/ledger.ts';
import type { MemoryLedger } from '../../../src/processors/simulated/memory-ledger.ts';

interface Decision {
  readonly challengeId: string;
  readonly isApproved: boolean;
}

export interface LedgerServer {
  /** For `RemoteLedger`. */
  readonly origin: string;
  close(): void;
}

/**
 * Serves the simulated processor's ledger over HTTP, so that several processes share it and it survives a killed one.
 * `POST /charges`, `/cancellations`, `/refunds`, `/challenges` and `/decisions` return the ledger's reply; `GET /records` returns all charges and
 * refunds. For a lost reply the server closes the connection. It listens on a free loopback port.
 */
export async function serveLedger(ledger: MemoryLedger): Promise<LedgerServer> {
  const server = createServer((request, response) => void respond(ledger, request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: originOf(server), close: () => close(server) };
}

async function respond(
  ledger: MemoryLedger,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reply = await replyTo(ledger, request);
  if ('kind' in reply && reply.kind === 'lost') request.socket.destroy();
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
}

async function replyTo(ledger: MemoryLedger, request: IncomingMessage) {
  if (request.url === '/charges') return ledger.charge((await readJson(request)) as LedgerRequest);
  if (request.url === '/refunds') return ledger.refund((await readJson(request)) as LedgerRefundRequest);
  if (request.url === '/cancellations')
    return ledger.cancel(((await readJson(request)) as { key: string }).key);
  if (request.url === '/challenges')
    return { found: await ledger.findChallenge(((await readJson(request)) as { id: string }).id) };
  if (request.url === '/decisions') {
    const { challengeId, isApproved } = (await readJson(request)) as Decision;
    await ledger.decide(challengeId, isApproved);
    return {};
  }
  if (request.url === '/open-challenges') return { open: await ledger.openChallenges() };
  return ledger.records();
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function close(server: Server): void {
  server.close();
  server.closeAllConnections();
}

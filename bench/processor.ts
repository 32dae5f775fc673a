import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import type { LedgerCharge, LedgerRecords, LedgerRequest } from '../src/processors/simulated/ledger.ts';

/**
 * A payment processor that responds at once: the simulated ledger over HTTP, where every charge succeeds. `/books`
 * lists the charges by their keys, so that a case can count those that were made twice. Usage: node bench/processor.ts
 */
const charges = new Map<string, LedgerCharge>();
let calls = 0;

const server = createServer(async (request, response) => {
  const reply = request.method === 'POST' ? charge((await readJson(request)) as LedgerRequest) : records();
  const text = JSON.stringify(reply);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Processor is ready on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

function charge(request: LedgerRequest) {
  calls++;
  const chargeId = `ch_simulated_${calls.toString(16).padStart(24, '0')}`;
  const made = charges.get(request.key);
  // A request of `forwarder.ts` has no key.
  if (made === undefined && request.key !== undefined)
    charges.set(request.key, { ...request, chargeId, madeAt: Date.now() });
  return { kind: 'paid', chargeId: made?.chargeId ?? chargeId };
}

function records(): LedgerRecords {
  return { charges: [...charges.values()], refunds: [] };
}

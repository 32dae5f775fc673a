import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json as readJson } from 'node:stream/consumers';
import type { LedgerBooks, LedgerCharge, LedgerRequest } from '../src/processors/simulated/ledger.ts';

/**
 * A payment processor that answers at once: as the simulated ledger over HTTP, and every charge succeeds. Its books
 * tell the charges by their keys, so that a case can count what was made twice. Usage: node bench/processor.ts
 */
const charges = new Map<string, LedgerCharge>();
let asked = 0;

const server = createServer(async (request, response) => {
  const reply = request.method === 'POST' ? charge((await readJson(request)) as LedgerRequest) : books();
  const text = JSON.stringify(reply);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`Processor is ready on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

function charge(request: LedgerRequest) {
  asked++;
  const chargeId = `ch_simulated_${asked.toString(16).padStart(24, '0')}`;
  const made = charges.get(request.key);
  // Whoever forwards without a record has no key.
  if (made === undefined && request.key !== undefined)
    charges.set(request.key, { ...request, chargeId, madeAt: Date.now() });
  return { kind: 'paid', chargeId: made?.chargeId ?? chargeId };
}

function books(): LedgerBooks {
  return { charges: [...charges.values()], refunds: [] };
}

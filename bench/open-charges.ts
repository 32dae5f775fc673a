import { transitionCharge } from '../src/payments/charge-state.ts';
import { type OpenMarker, openSpace } from '../src/payments/ownership/marker.ts';
import {
  newPaymentId,
  newProcessorKey,
  type Payment,
  paymentsSpace,
  tokenDigest,
  tokenPlace,
} from '../src/payments/payment.ts';
import { RemoteLedger } from '../src/processors/simulated/remote-ledger.ts';
import { openSealer } from '../src/secrets/master-keys.ts';
import { openLmdbEngine } from '../src/storage/lmdb/open.ts';

/**
 * Leaves a data folder as a killed process does: with open charges, half of which the processor has made. Usage:
 * node bench/open-charges.ts FOLDER COUNT PROCESSOR
 */
const [folder, count, processor] = process.argv.slice(2);
if (folder === undefined || count === undefined || processor === undefined)
  throw new Error('usage: open-charges.ts FOLDER COUNT PROCESSOR');

const engine = openLmdbEngine(folder);
const sealer = await openSealer(engine, { settings: [], command: undefined, dataFolder: folder }, Date.now());
const ledger = new RemoteLedger(processor);
const token = 'tok_paid';

for (let left = Number(count); left > 0; left -= 100) {
  await Promise.all(Array.from({ length: Math.min(left, 100) }, (_, index) => leave(index % 2 === 0)));
}
await engine.close();

async function leave(isMade: boolean): Promise<void> {
  const id = newPaymentId(Date.now());
  const payment: Payment = {
    id,
    state: transitionCharge('received', 'calling'),
    processor: 'simulated',
    route: 'charge',
    amount: 1_050,
    currency: 'EUR',
    tokenDigest: tokenDigest(id, token),
    processorKey: newProcessorKey(),
    attempts: 0,
    requestId: 'req_of_the_benchmark',
    createdAt: new Date().toISOString(),
    retryUntil: Date.now() + 600_000,
    sealedToken: sealer.seal(token, tokenPlace(id)),
  };
  const rejection = await engine.commit([
    { kind: 'create', space: paymentsSpace, id, value: JSON.stringify(payment), makeSpace: true },
    {
      kind: 'create',
      space: openSpace,
      id,
      value: JSON.stringify({ processor: 'simulated', owner: 'killed' } satisfies OpenMarker),
      makeSpace: true,
    },
  ]);
  if (rejection !== undefined) throw new Error(`a payment was rejected: ${rejection.reason}`);
  const { processorKey: key, amount, currency } = payment;
  if (isMade) await ledger.charge({ key, paymentId: id, amount, currency, token });
}

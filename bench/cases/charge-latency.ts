import { Agent, request as send } from 'node:http';
import type { ChargeRequest } from '../../src/processors/processor.ts';
import { RemoteLedger } from '../../src/processors/simulated/remote-ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import type { Case } from '../case.ts';
import { flushMs, flushRemark, requireDisk } from '../disk.ts';
import { compareInRounds, type Round, spreadOf } from '../measure.ts';
import { chargePath } from '../paying.ts';
import { startPayingService, startProcessor } from '../servers.ts';

/** Allowed beyond the two flushes that a charge needs to be durable. */
const boundMs = 1.5;

/** What the service adds to a single charge. */
export const chargeLatency: Case = {
  name: 'charge-latency',
  summary: 'makes one charge after the other, through the service and directly at the processor',

  async measure(environment, conditions) {
    requireDisk(environment.folder);
    const { origin: processor } = await startProcessor(environment);
    const { origin: service } = await startPayingService(environment, conditions, processor);
    const adapter = simulatedProcessor(new RemoteLedger(processor));
    let calls = 0;
    const direct = async () => {
      const number = ++calls;
      const request: ChargeRequest = {
        paymentId: `pay_${number}`,
        processorKey: `direct-${number}`,
        tokenKey: `token-${number}`,
        amount: 1_050,
        currency: 'EUR',
        token: 'tok_paid',
        timeoutMs: 5_000,
      };
      const { kind } = await adapter.charge(request);
      if (kind !== 'succeeded') throw new Error(`the processor returned ${kind}`);
    };
    const body = JSON.stringify({ amount: 1_050, currency: 'EUR', token: 'tok_paid' });
    const agent = new Agent({ keepAlive: true });
    const throughService = () => pay(service + chargePath, agent, body);
    const figures = await compareInRounds(conditions, {
      direct: (round) => medianMs(direct, round),
      ours: (round) => medianMs(throughService, round),
    });
    const bound = 2 * flushMs(environment.folder) + boundMs;
    return {
      rows: [
        {
          name: 'charge, 1 connection, median',
          unit: 'ms',
          ours: figures.ours,
          yardstick: { name: 'the processor called directly', figures: figures.direct },
          goal: { of: 'difference', side: 'most', bound: Math.round(bound * 100) / 100 },
        },
      ],
      remarks: [`The bound is two flushes and ${boundMs} ms.`, flushRemark(environment.folder)],
    };
  },
};

/** Uses the same HTTP client as the adapter, so that the client costs both sides the same. */
function pay(url: string, agent: Agent, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const request = send(url, { agent, method: 'POST', headers }, (response) => {
      const isPaid = response.statusCode === 200;
      const fail = () => reject(new Error(`the service responded with ${response.statusCode}`));
      response.resume().on('end', () => (isPaid ? resolve() : fail()));
    });
    request.on('error', reject).end(body);
  });
}

async function medianMs(act: () => Promise<void>, { seconds }: Round): Promise<number> {
  const until = performance.now() + seconds * 1_000;
  const took: number[] = [];
  while (performance.now() < until) {
    const began = performance.now();
    await act();
    took.push(performance.now() - began);
  }
  return spreadOf(took).median;
}

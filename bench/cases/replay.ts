import type { Case } from '../case.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { chargePath, sameCharge } from '../paying.ts';
import { startPayingService, startProcessor } from '../servers.ts';
import { putUnderLoad, usualConnections } from '../wrk.ts';

const items = Array.from({ length: 10 }, (_, index) => ({
  id: `item-${index}`,
  name: `The name of item ${index}`,
}));

/** A client without a response sends its charge again, which must be cheap. */
export const replay: Case = {
  name: 'replay',
  summary: 'repeats a finished payment under its idempotency key',

  async measure(environment, conditions) {
    const { origin: processor } = await startProcessor(environment);
    const { origin: service } = await startPayingService(environment, conditions, processor);
    for (const item of items) await create(service, item);
    const repeating = async ({ seconds }: Round) => {
      const headers = { 'idempotency-key': 'order-1042' };
      const load = { url: service + chargePath, headers, seconds, body: sameCharge };
      return (await putUnderLoad(environment, load)).requestsPerSecond;
    };
    const reading = async ({ seconds }: Round) =>
      (await putUnderLoad(environment, { url: `${service}/v3/table/ten/read`, seconds })).requestsPerSecond;
    const figures = await compareInRounds(conditions, { reading, repeating });
    return {
      rows: [
        {
          name: `replay of a payment, ${usualConnections} connections`,
          unit: 'requests/s',
          ours: figures.repeating,
          yardstick: { name: 'read of a table of 10 items', figures: figures.reading },
          goal: { of: 'ratio', side: 'least', bound: 0.7 },
        },
      ],
      remarks: [],
    };
  },
};

async function create(origin: string, item: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const url = `${origin}/v3/table/ten/create`;
  const { status } = await fetch(url, { method: 'POST', headers, body: JSON.stringify(item) });
  if (status !== 200) throw new Error(`create returned ${status}`);
}

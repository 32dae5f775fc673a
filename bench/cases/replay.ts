import type { Case } from '../case.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { chargePath, sameCharge } from '../paying.ts';
import { startPayingService, startProcessor } from '../servers.ts';
import { createTen, tenTable } from '../ten-items.ts';
import { putUnderLoad, usualConnections } from '../wrk.ts';

/** A client without a response sends its charge again, which must be cheap. */
export const replay: Case = {
  name: 'replay',
  summary: 'repeats a finished payment under its idempotency key',

  async measure(environment, conditions) {
    const { origin: processor } = await startProcessor(environment);
    const { origin: service } = await startPayingService(environment, conditions, processor);
    await createTen(service);
    const repeating = async ({ seconds }: Round) => {
      const headers = { 'idempotency-key': 'order-1042' };
      const load = { url: service + chargePath, headers, seconds, body: sameCharge };
      return (await putUnderLoad(environment, load)).requestsPerSecond;
    };
    const reading = async ({ seconds }: Round) =>
      (await putUnderLoad(environment, { url: `${service}${tenTable}/read`, seconds })).requestsPerSecond;
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

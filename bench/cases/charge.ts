import type { Case } from '../case.ts';
import { flushRemark, refuseMemory } from '../disk.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { chargePath, charges } from '../paying.ts';
import { startForwarder, startPayingService, startProcessor } from '../servers.ts';
import { putUnderLoad } from '../wrk.ts';

const connections = 256;

/** What the record of a charge costs: twice on disk, before the processor is asked and before the caller is answered. */
export const charge: Case = {
  name: 'charge',
  summary: 'takes payments, with a processor that answers at once',

  async measure(workplace, conditions) {
    refuseMemory(workplace.folder);
    const { origin: processor } = await startProcessor(workplace);
    const { origin: service } = await startPayingService(workplace, conditions, processor);
    const { origin: forwarder } = await startForwarder(workplace, processor);
    const load =
      (origin: string) =>
      async ({ seconds }: Round) => {
        const url = origin + chargePath;
        return (await putUnderLoad(workplace, { url, seconds, connections, requests: charges() }))
          .requestsPerSecond;
      };
    const figures = await compareInRounds(conditions, { yardstick: load(forwarder), ours: load(service) });
    return {
      rows: [
        {
          name: `charge, ${connections} connections`,
          unit: 'requests/s',
          ours: figures.ours,
          yardstick: { name: 'bare node:http, forwarding without a record', figures: figures.yardstick },
          goal: { of: 'ratio', side: 'least', bound: 0.5 },
        },
      ],
      remarks: [
        'Client, service or forwarder, and processor share the cores.',
        flushRemark(workplace.folder),
      ],
    };
  },
};

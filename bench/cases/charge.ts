import type { Case } from '../case.ts';
import { flushRemark, requireDisk } from '../disk.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { chargePath, charges } from '../paying.ts';
import { startForwarder, startPayingService, startProcessor } from '../servers.ts';
import { putUnderLoad } from '../wrk.ts';

const connections = 256;

/** The cost of a charge's record: it is flushed twice, before the call to the processor and before the response. */
export const charge: Case = {
  name: 'charge',
  summary: 'makes charges, with a processor that responds at once',

  async measure(environment, conditions) {
    requireDisk(environment.folder);
    const { origin: processor } = await startProcessor(environment);
    const { origin: service } = await startPayingService(environment, conditions, processor);
    const { origin: forwarder } = await startForwarder(environment, processor);
    const load =
      (origin: string) =>
      async ({ seconds }: Round) => {
        const url = origin + chargePath;
        return (await putUnderLoad(environment, { url, seconds, connections, requests: charges() }))
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
          goal: { of: 'ratio', side: 'least', bound: 0.6 },
        },
      ],
      remarks: [
        'Client, service or forwarder, and processor share the cores.',
        flushRemark(environment.folder),
      ],
    };
  },
};

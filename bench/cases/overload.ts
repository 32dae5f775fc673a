import type { Case, Row } from '../case.ts';
import { requireDisk } from '../disk.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { peakDuring, processesOf } from '../memory.ts';
import { chargePath, charges } from '../paying.ts';
import { startPayingService, startProcessor } from '../servers.ts';
import { putUnderLoad } from '../wrk.ts';

/** With more connections, the service makes no more charges per second. */
const saturating = 256;
const overloading = 5 * saturating;
/** Far more than the service accepts at once. */
const flooding = 6_000;
const floodMegabytesMax = 768;

/** How much slower the served callers become when there are more callers than the limit. */
export const overload: Case = {
  name: 'overload',
  summary: 'makes charges for five times as many callers as saturate it, and for far too many',

  async measure(environment, conditions) {
    requireDisk(environment.folder);
    const { origin: processor } = await startProcessor(environment);
    const { origin, program } = await startPayingService(environment, conditions, processor);
    const memory: number[] = [];
    const load =
      (connections: number) =>
      async ({ seconds, number }: Round) => {
        const url = origin + chargePath;
        const work = putUnderLoad(environment, {
          url,
          seconds,
          connections,
          requests: charges(),
          mayShed: true,
        });
        const peak = await peakDuring(processesOf(program.child.pid), work);
        if (connections === flooding && number > 0) memory.push(peak);
        return (await work).requestsPerSecond;
      };
    const figures = await compareInRounds(conditions, {
      peak: load(saturating),
      ours: load(overloading),
      flood: load(flooding),
    });
    const yardstick = { name: `the same, ${saturating} connections`, figures: figures.peak };
    const row = (connections: number, ours: readonly number[], goal: Row['goal']) =>
      ({
        name: `charge, ${connections.toLocaleString('en')} connections: served`,
        unit: 'requests/s',
        ours,
        yardstick,
        goal,
      }) as const;
    return {
      rows: [
        row(overloading, figures.ours, { of: 'ratio', side: 'least', bound: 0.8 }),
        row(flooding, figures.flood, { of: 'ratio', side: 'least' }),
        {
          name: `charge, ${flooding.toLocaleString('en')} connections: memory`,
          unit: 'MB',
          ours: memory,
          goal: { of: 'figure', side: 'most', bound: floodMegabytesMax },
        },
      ],
      remarks: ['Clients that are shed retry at once, without the backoff of a real client: the worst case.'],
    };
  },
};

import type { Case, Row } from '../case.ts';
import { refuseMemory } from '../disk.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { peakDuring, processesOf } from '../memory.ts';
import { chargePath, charges } from '../paying.ts';
import { startPayingService, startProcessor } from '../servers.ts';
import { putUnderLoad } from '../wrk.ts';

/** More of them make charging no faster. */
const saturating = 256;
const overloading = 5 * saturating;
/** Far beyond what the service takes at once. */
const flooding = 6_000;
const floodMegabytesMax = 768;

/** What callers beyond the limit cost those who are served. */
export const overload: Case = {
  name: 'overload',
  summary: 'takes payments from five times as many callers as keep it busy, and from far too many',

  async measure(workplace, conditions) {
    refuseMemory(workplace.folder);
    const { origin: processor } = await startProcessor(workplace);
    const { origin, program } = await startPayingService(workplace, conditions, processor);
    const memory: number[] = [];
    const load =
      (connections: number) =>
      async ({ seconds, number }: Round) => {
        const url = origin + chargePath;
        const work = putUnderLoad(workplace, {
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
      remarks: ['Whoever is shed asks again at once, as no honest client does: the harshest load there is.'],
    };
  },
};

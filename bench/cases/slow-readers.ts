import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Case, Conditions, Goal, Row } from '../case.ts';
import { bytesOnDisk } from '../disk.ts';
import type { Environment } from '../environment.ts';
import { fillTables } from '../fixtures.ts';
import { countText, shortNumber } from '../measure.ts';
import { peakDuring, processesOf } from '../memory.ts';
import { startService } from '../servers.ts';
import { readSlowly } from '../slow-readers.ts';
import { itemBody, putUnderLoad } from '../wrk.ts';

const readers = 64;
const bytesPerSecond = 100_000;
/** Long enough that a reader at this rate is still within its first response of 100,000 items at the end. */
const secondsPerSecond = 10;
/** With less, the readers would not have been slow readers but no readers. */
const receivedShareLeast = 0.5;
const bytesPerMegabyte = 1_000_000;
const table = 'items';

/** Slow readers hold old versions of the table, while updates make new ones as fast as they can. */
export const slowReaders: Case = {
  name: 'slow-readers',
  summary: `updates a table while ${readers} readers take it at ${bytesPerSecond / 1_000} kB/s each`,

  async measure(environment, conditions) {
    const { sizes, rounds, log } = conditions;
    const name = `updates of ${countText(sizes.medium)} items under ${readers} slow readers`;
    const reported: Goal = { of: 'difference', side: 'most' };
    if (!existsSync('/proc/self/status'))
      return { rows: [{ name, goal: reported, missing: 'needs /proc, as Linux has it' }], remarks: [] };
    const filled = join(environment.folder, 'filled');
    await fillTables(environment, filled, { [table]: sizes.medium }, log);
    const found = { none: [] as Figures[], slow: [] as Figures[] };
    for (let round = 1; round <= rounds; round++) {
      found.none.push(await updateUnder(environment, conditions, filled, 0));
      found.slow.push(await updateUnder(environment, conditions, filled, readers));
      log(`  round-${round}: without readers ${text(found.none.at(-1))}, with ${text(found.slow.at(-1))}`);
    }
    const row = (
      what: string,
      unit: 'MB' | 'requests/s',
      goal: Goal,
      of: (figures: Figures) => number,
    ): Row => ({
      name: `${name}: ${what}`,
      unit,
      ours: found.slow.map(of),
      yardstick: { name: 'the same without readers', figures: found.none.map(of) },
      goal,
    });
    const rate: Goal = { of: 'ratio', side: 'least' };
    return {
      rows: [
        row('memory', 'MB', reported, ({ peak }) => peak),
        row('growth of the store', 'MB', reported, ({ growth }) => growth),
        row('rate', 'requests/s', rate, ({ updatesPerSecond }) => updatesPerSecond),
      ],
      remarks: [
        `Each round has a new copy of the table and ${conditions.seconds * secondsPerSecond} s of updates; each reader ` +
          'reads the whole table again and again. Memory is the peak of anonymous memory (RssAnon); the growth is that ' +
          'of all files of the store at the end.',
      ],
    };
  },
};

interface Figures {
  readonly peak: number;
  readonly growth: number;
  readonly updatesPerSecond: number;
}

async function updateUnder(
  environment: Environment,
  conditions: Conditions,
  filled: string,
  readerCount: number,
): Promise<Figures> {
  const data = join(environment.folder, 'data');
  cpSync(filled, data, { recursive: true });
  const service = await startService(environment, conditions, data);
  const before = bytesOnDisk(data);
  const seconds = conditions.seconds * secondsPerSecond;
  const url = `${service.origin}/v3/table/${table}`;
  const done = new AbortController();
  const reading = readSlowly({ url: `${url}/read`, readers: readerCount, bytesPerSecond }, done.signal);
  const count = conditions.sizes.medium;
  const load = putUnderLoad(environment, {
    url: `${url}/update`,
    seconds,
    requests: { method: 'PUT', body: itemBody, items: { kind: 'known', count } },
  });
  try {
    const peak = await peakDuring(
      processesOf(service.program.child.pid),
      Promise.race([load, failureOf(reading)]),
    );
    const growth = (bytesOnDisk(data) - before) / bytesPerMegabyte;
    done.abort();
    const received = await reading;
    if (received < readerCount * bytesPerSecond * seconds * receivedShareLeast)
      throw new Error(`${readerCount} readers received only ${countText(received)} bytes`);
    return { peak, growth, updatesPerSecond: (await load).requestsPerSecond };
  } finally {
    done.abort();
    await environment.stop(service.program);
    rmSync(data, { recursive: true });
  }
}

/** Rejects as the work does; never resolves. */
function failureOf(work: Promise<unknown>): Promise<never> {
  return new Promise((_resolve, reject) => {
    work.catch(reject);
  });
}

function text(figures: Figures | undefined): string {
  if (figures === undefined) return '–';
  const { peak, growth, updatesPerSecond } = figures;
  return `${shortNumber(peak)} MB, +${shortNumber(growth)} MB on disk, ${shortNumber(updatesPerSecond)}/s`;
}

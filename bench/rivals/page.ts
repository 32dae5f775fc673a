import type { Conditions, Page } from '../case.ts';
import { countText } from '../measure.ts';
import { usualConnections } from '../wrk.ts';
import type { Cell } from './compare.ts';
import type { Contender } from './contender.ts';
import { type FigureRow, footprintRows, lossesOf, plotOf, tableOf } from './figures.ts';
import { type Footprint, settleMs, work } from './footprint.ts';
import { wholeMsMax } from './whole-table.ts';

/** A request, or a read of a whole table, of every contender by its name. */
export interface RateRow {
  readonly title: string;
  readonly cells: ReadonlyMap<string, Cell>;
}

/** What the `rivals` case has found. */
export interface Found {
  readonly contenders: readonly Contender[];
  /** Why some were not measured. */
  readonly absent: ReadonlyMap<string, string>;
  readonly rates: readonly RateRow[];
  readonly largest: RateRow;
  readonly footprints: ReadonlyMap<string, readonly Footprint[]>;
  /** Megabytes after the fill. */
  readonly disk: Readonly<Record<'medium' | 'large', ReadonlyMap<string, number>>>;
  readonly flush: string;
  readonly conditions: Conditions;
}

/** The contents of RIVALS.md, without its head. */
export function rivalsPage(found: Found): Page {
  const { contenders, conditions } = found;
  const names = contenders.map(({ name }) => name);
  const rows = ratesOf(found);
  const rates = rows.map((row) => figureRow(row, 'perSecond'));
  const cpu = rows.map((row) => figureRow(row, 'cpuUs'));
  const footprints = footprintRows(conditions.sizes, found.footprints, found.disk);
  const losses = lossesOf(
    { rates, cpu, footprints },
    contenders.filter(({ stores }) => stores).map(({ name }) => name),
  );
  const rounds = `Medians and ranges of ${conditions.rounds} rounds.`;
  const body = `A figure is the median of the rounds, its range in brackets. Below another server's figure is how Counterfoil compares with
it in the same round: **above 1 × Counterfoil does better, below 1 × the other does.** Bare \`node:http\` is no store, but
the least that HTTP costs.

## Requests per second

${tableOf(names, rates)}

![Requests per second of Counterfoil, divided by those of the others](../docs/rivals-rate.svg)

## CPU time per request, in µs

User and system time of all processes of the server, divided by the requests that were answered.

${tableOf(names, cpu)}

![CPU time per request of the others, divided by that of Counterfoil](../docs/rivals-cpu.svg)

## Memory, disk and start

${tableOf(names, footprints)}

![What the others take, divided by what Counterfoil takes](../docs/rivals-footprint.svg)

## Where Counterfoil does worse

${losses.length === 0 ? 'Nowhere in this run.' : losses.map((loss) => `- ${loss}`).join('\n')}

## When an acknowledged write is on disk

A write that is not flushed is cheaper, and a power cut can lose it.

${contenders.map(({ name, durability }) => `- ${name}: ${durability}.`).join('\n')}

## How it is measured

${remarksOf(found)
  .map((remark) => `- ${remark}`)
  .join('\n')}
`;
  const plots = [
    {
      file: 'rivals-rate',
      title: 'Requests per second: Counterfoil divided by the other',
      subtitle: `Right of the line Counterfoil serves more. ${rounds}`,
      ...plotOf(names, rates),
    },
    {
      file: 'rivals-cpu',
      title: 'CPU time per request: the other divided by Counterfoil',
      subtitle: `Right of the line Counterfoil takes less. ${rounds}`,
      ...plotOf(names, cpu),
    },
    {
      file: 'rivals-footprint',
      title: 'Memory, disk and start: the other divided by Counterfoil',
      subtitle: `Right of the line Counterfoil takes less. ${rounds}`,
      ...plotOf(names, footprints),
    },
  ];
  return { file: 'RIVALS.md', title: 'Counterfoil beside other servers', body, plots };
}

/** The whole tables stand together, before the writes. */
function ratesOf({ rates, largest }: Found): RateRow[] {
  const writes = 2;
  return [...rates.slice(0, -writes), largest, ...rates.slice(-writes)];
}

function figureRow({ title, cells }: RateRow, figure: 'perSecond' | 'cpuUs'): FigureRow {
  const figures = [...cells].flatMap(([name, cell]) =>
    'missing' in cell ? [] : [[name, cell[figure]] as const],
  );
  return { title, better: figure === 'perSecond' ? 'more' : 'less', figures: new Map(figures) };
}

function remarksOf(found: Found): string[] {
  const { contenders, absent, conditions, flush } = found;
  const { rounds, seconds, sizes } = conditions;
  const unmeasured = ratesOf(found).flatMap(({ title, cells }) =>
    [...cells].flatMap(([name, cell]) =>
      'missing' in cell ? [`Not measured: ${title}, ${name}: \`${cell.missing}\``] : [],
    ),
  );
  return [
    `In each of ${rounds} rounds every server in turn is under load for ${seconds} s while the others are idle, after a ` +
      `warm-up of each that is not counted. The load is wrk with 1 thread and ${usualConnections} connections, and shares ` +
      'the cores with the server. Ratios are computed within a round; the tables show their median.',
    'A whole table is read by one connection, again and again for that time, at least once; one read is one request. ' +
      `A server that takes longer than ${wholeMsMax / 1_000} s has failed.`,
    `Memory is that of a newly started server with ${countText(sizes.medium)} items: idle, ${settleMs / 1_000} s after its first ` +
      `response, and the peak while ${work.wholeReads} connections each read the whole table, ${countText(work.reads)} requests ` +
      `read one item and ${work.creates} create one. Resident memory is anonymous memory and pages of mapped files ` +
      '(`smaps_rollup`, Rss and Anonymous); the system can reclaim mapped pages at any time.',
    'A start runs from the start of the process to the first response with the 10 items. The disk space is that of all ' +
      'files after the fill, once.',
    flush,
    ...contenders.filter(({ name }) => !absent.has(name)).map(({ remark }) => remark),
    ...[...absent].map(([name, reason]) => `${name} was not measured: ${reason}.`),
    ...unmeasured,
  ];
}

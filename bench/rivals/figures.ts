import { countText, type Spread, shortNumber, spreadOf } from '../measure.ts';
import type { RatioPlot } from '../ratios.ts';
import type { Sizes } from '../sizes.ts';
import type { Footprint } from './footprint.ts';

/** A row of a table: the figures of each contender, one per round. Ours are the first column. */
export interface FigureRow {
  readonly title: string;
  readonly better: 'more' | 'less';
  readonly figures: ReadonlyMap<string, readonly number[]>;
}

export type Megabytes = Readonly<Record<'medium' | 'large', ReadonlyMap<string, number>>>;

/** The rows of what each contender takes of the machine. */
export function footprintRows(
  sizes: Sizes,
  footprints: ReadonlyMap<string, readonly Footprint[]>,
  disk: Megabytes,
): FigureRow[] {
  const row = (title: string, figureOf: (footprint: Footprint) => number): FigureRow => ({
    title,
    better: 'less',
    figures: new Map([...footprints].map(([name, all]) => [name, all.map(figureOf)])),
  });
  const diskRow = (size: 'medium' | 'large'): FigureRow => ({
    title: `disk, ${countText(sizes[size])} items, MB`,
    better: 'less',
    figures: new Map([...disk[size]].map(([name, megabytes]) => [name, [megabytes]])),
  });
  return [
    row('idle, resident, MB', ({ idle }) => idle.resident),
    row('idle, of which anonymous, MB', ({ idle }) => idle.anonymous),
    row('peak, resident, MB', ({ peak }) => peak.resident),
    row('peak, of which anonymous, MB', ({ peak }) => peak.anonymous),
    diskRow('medium'),
    diskRow('large'),
    row('start to the first response, ms', ({ startMs }) => startMs),
  ];
}

/** How ours compares with another's within each round, as a factor above 1 where ours is better. */
function ratioOf(
  { better, figures }: FigureRow,
  [ours, other]: readonly [string, string],
): Spread | undefined {
  const [own, others] = [figures.get(ours), figures.get(other)];
  if (own === undefined || others === undefined) return undefined;
  return spreadOf(
    own.map((figure, round) => {
      const against = others[round] as number;
      return better === 'more' ? figure / against : against / figure;
    }),
  );
}

/** A table in Markdown. @param names the columns, ours first */
export function tableOf(names: readonly string[], rows: readonly FigureRow[]): string {
  const [ours = ''] = names;
  const cell = (row: FigureRow, name: string): string => {
    const figures = row.figures.get(name);
    if (figures === undefined) return '—';
    const ratio = name === ours ? undefined : ratioOf(row, [ours, name]);
    const figure = spreadText(spreadOf(figures), figureText);
    return ratio === undefined ? figure : `${figure}<br>${spreadText(ratio, ratioText)} ×`;
  };
  const lines = [
    ['', ...names],
    ['---', ...names.map(() => '---')],
    ...rows.map((row) => [row.title, ...names.map((name) => cell(row, name))]),
  ];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The ratios of a table, for a chart. */
export function plotOf(
  names: readonly string[],
  rows: readonly FigureRow[],
): Pick<RatioPlot, 'rows' | 'series' | 'points'> {
  const [ours = '', ...others] = names;
  const points = rows.flatMap((row) =>
    others.flatMap((name) => {
      const ratio = ratioOf(row, [ours, name]);
      return ratio === undefined ? [] : [{ row: row.title, series: name, ...ratio }];
    }),
  );
  return { rows: rows.map(({ title }) => title), series: others, points };
}

interface AllRows {
  readonly rates: readonly FigureRow[];
  readonly cpu: readonly FigureRow[];
  readonly footprints: readonly FigureRow[];
}

/** Every row in which another of these is better in the median, in words. @param names ours first */
export function lossesOf({ rates, cpu, footprints }: AllRows, names: readonly string[]): string[] {
  const [ours = '', ...others] = names;
  const better = (row: FigureRow): string[] =>
    others.flatMap((name) => {
      const ratio = ratioOf(row, [ours, name]);
      return ratio === undefined || ratio.median >= 1 ? [] : [`${name} (${ratioText(ratio.median)} ×)`];
    });
  const lines = (of: string, rows: readonly FigureRow[]) =>
    rows.flatMap((row) => {
      const found = better(row);
      return found.length === 0 ? [] : [`${of}${row.title}: ${found.join(', ')}`];
    });
  return [...lines('Requests per second, ', rates), ...lines('CPU time, ', cpu), ...lines('', footprints)];
}

function spreadText({ median, min, max }: Spread, text: (figure: number) => string): string {
  const range = min === max ? '' : ` [${text(min)}–${text(max)}]`;
  return text(median) + range;
}

/** A read of a million items may take many seconds: two digits of the rate then, too. */
function figureText(figure: number): string {
  return figure < 1 ? figure.toPrecision(2) : shortNumber(figure);
}

function ratioText(ratio: number): string {
  return ratio >= 100 ? shortNumber(ratio) : ratio.toFixed(ratio >= 10 ? 1 : 2);
}

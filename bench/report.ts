import { cpus, release, totalmem, type } from 'node:os';
import type { Case, Measured, Page, Row } from './case.ts';
import type { Curve } from './curve.ts';
import { countText, type Spread, shortNumber, spreadOf } from './measure.ts';
import { goalText, judgedOf, judgedText, verdictOf } from './verdict.ts';

export interface Outcome {
  readonly case: Case;
  readonly measured: Measured;
}

const headings = ['measurement', 'ours', 'yardstick', 'its figure', 'ours to it', 'goal', 'met'];

/** The table as the terminal shows it, with the remarks below. */
export function plainReport(outcomes: readonly Outcome[]): string {
  const rows = outcomes.flatMap(({ measured }) => measured.rows);
  const curves = outcomes.flatMap(({ measured }) => measured.curves ?? []);
  const parts = [
    ...(rows.length === 0 ? [] : [aligned([headings, ...rows.map(cellsOf)])]),
    ...curves.map((curve) => `${curve.title}\n${aligned(curveTable(curve))}`),
    ...outcomes.flatMap(({ measured }) => measured.page?.body ?? []),
    remarksOf(outcomes).join('\n'),
  ];
  return parts.join('\n\n').trimEnd();
}

function aligned(table: readonly (readonly string[])[]): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((cells) => (cells[column] ?? '').length)),
  );
  const lines = table.map((cells) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '),
  );
  return lines.map((line) => line.trimEnd()).join('\n');
}

export interface Circumstances {
  /** As the user typed it. */
  readonly command: string;
  readonly tools: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly minutes: number;
  /** Charts of the curves, as paths from RESULTS.md. */
  readonly pictures: readonly string[];
}

/** The contents of a page that a case has for itself. */
export function writtenPage({ title, body }: Page, circumstances: Omit<Circumstances, 'pictures'>): string {
  return `${head(title, circumstances)}\n\n${body}`;
}

/** The contents of RESULTS.md. */
export function writtenReport(outcomes: readonly Outcome[], circumstances: Circumstances): string {
  const { rounds, seconds, pictures } = circumstances;
  const table = outcomes.flatMap(({ measured }) => measured.rows).map(cellsOf);
  const curves = outcomes.flatMap(({ measured }) => measured.curves ?? []);
  return `${head('Benchmark results', circumstances)}

${markdown([headings, ...table])}

Figures are medians of the rounds, their ranges in brackets.

${outcomes.map((outcome) => `- \`${outcome.case.name}\` ${outcome.case.summary}.`).join('\n')}
${curves.map((curve, index) => curveSection(curve, pictures[index])).join('')}
## How it is measured

In each of ${rounds} rounds, first the yardstick and then the service is under load for ${seconds} s, after one warm-up of each
that is not counted. So other work on the machine affects both alike. Ratios and differences are computed within a round,
and the table shows their median, which is not the ratio of the medians. By default the load comes from wrk (1 thread, 64
connections), and the yardstick is a bare \`node:http\` server on the same Node (\`bench/yardstick.ts\`) in a process of its
own: the least that HTTP costs. Service, yardstick and load run on one machine and share its cores. The absolute figures
are specific to this machine and this run; the ratios vary less. Items have 46 bytes in a response, and their ids are in
random order (\`bench/items.ts\`).

${remarksOf(outcomes).join('\n')}
`;
}

/** When and where it was measured. */
function head(title: string, { command, tools, minutes }: Omit<Circumstances, 'pictures'>): string {
  return `# ${title}

Written by the benchmark. To update it, run the command again.

- Date: ${new Date().toISOString().slice(0, 10)}
- Machine: ${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory
- System: ${type()} ${release()}, Node ${process.version}
- Compared with: ${tools.join(', ')}
- Command: \`${command}\`, which took ${Math.round(minutes)} minutes`;
}

function curveSection(curve: Curve, picture: string | undefined): string {
  const shown = picture === undefined ? '' : `![${curve.title}](${picture})\n\n`;
  return `\n## ${curve.title}\n\n${curve.subtitle}\n\n${shown}${markdown(curveTable(curve))}\n`;
}

function markdown([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cellsOf(row: Row): string[] {
  if ('missing' in row) {
    return [row.name, `not measured: ${row.missing}`, row.against ?? '–', '–', '–', goalText(row.goal), '–'];
  }
  const { name, unit, ours, yardstick, goal } = row;
  const judged = judgedOf(row);
  return [
    name,
    `${spreadText(spreadOf(ours))} ${unit}`,
    yardstick?.name ?? '–',
    yardstick === undefined ? '–' : `${spreadText(spreadOf(yardstick.figures))} ${unit}`,
    judgedText(row, judged),
    goalText(goal, unit),
    verdictOf(goal, judged.median),
  ];
}

function curveTable({ series }: Curve): string[][] {
  const sizes = series[0]?.points.map(({ items }) => items) ?? [];
  const cell = (index: number, items: number) => {
    const point = series[index]?.points.find((each) => each.items === items);
    return point === undefined ? '–' : spreadText(spreadOf(point.figures));
  };
  return [
    ['items', ...series.map(({ name }) => name)],
    ...sizes.map((items) => [countText(items), ...series.map((_, index) => cell(index, items))]),
  ];
}

/** A remark that several cases share is listed once. */
function remarksOf(outcomes: readonly Outcome[]): string[] {
  const casesOf = new Map<string, string[]>();
  for (const { case: each, measured } of outcomes) {
    for (const remark of measured.remarks) {
      casesOf.set(remark, [...(casesOf.get(remark) ?? []), `\`${each.name}\``]);
    }
  }
  return [...casesOf].map(([remark, names]) => `- ${names.join(', ')}: ${remark}`);
}

function spreadText({ median, min, max }: Spread): string {
  return `${shortNumber(median)} [${shortNumber(min)}–${shortNumber(max)}]`;
}

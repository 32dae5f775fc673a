import { cpus, release, totalmem, type } from 'node:os';
import type { Case, Measured, Row } from './case.ts';
import type { Curve } from './curve.ts';
import { countText, type Spread, shortNumber, spreadOf } from './measure.ts';
import { goalText, judgedOf, judgedText, verdictOf } from './verdict.ts';

export interface Outcome {
  readonly case: Case;
  readonly measured: Measured;
}

const headings = ['what', 'ours', 'yardstick', 'its figure', 'ours to it', 'goal', 'met'];

/** The table as the terminal shows it, with the remarks below. */
export function plainReport(outcomes: readonly Outcome[]): string {
  const rows = outcomes.flatMap(({ measured }) => measured.rows);
  const curves = outcomes.flatMap(({ measured }) => measured.curves ?? []);
  const parts = [
    ...(rows.length === 0 ? [] : [aligned([headings, ...rows.map(cellsOf)])]),
    ...curves.map((curve) => `${curve.title}\n${aligned(curveTable(curve))}`),
    remarksOf(outcomes).join('\n'),
  ];
  return parts.join('\n\n');
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
  /** What was typed. */
  readonly command: string;
  readonly tools: readonly string[];
  readonly rounds: number;
  readonly seconds: number;
  readonly minutes: number;
  /** Pictures of the curves, as paths from RESULTS.md. */
  readonly pictures: readonly string[];
}

/** The contents of RESULTS.md. */
export function writtenReport(outcomes: readonly Outcome[], circumstances: Circumstances): string {
  const { command, tools, rounds, seconds, minutes, pictures } = circumstances;
  const table = outcomes.flatMap(({ measured }) => measured.rows).map(cellsOf);
  const curves = outcomes.flatMap(({ measured }) => measured.curves ?? []);
  return `# Benchmark results

Written by the harness; to renew it, run the command again.

- Date: ${new Date().toISOString().slice(0, 10)}
- Machine: ${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory
- System: ${type()} ${release()}, Node ${process.version}
- Beside it: ${tools.join(', ')}
- Command: \`${command}\`, which took ${Math.round(minutes)} minutes

${markdown([headings, ...table])}

Figures are medians of the rounds, their ranges in brackets.

${outcomes.map((outcome) => `- \`${outcome.case.name}\` ${outcome.case.summary}.`).join('\n')}
${curves.map((curve, index) => curveSection(curve, pictures[index])).join('')}
## How it is measured

In each of ${rounds} rounds first the yardstick, then the service is under load for ${seconds} s, after one uncounted warm-up
of each; so whatever else the machine does meets both alike. Ratios and differences are taken within a round, and the
table shows their median, which is not the ratio of the medians. Where nothing else is said the load comes from wrk
(1 thread, 64 connections), and the yardstick is the least that HTTP on the same Node costs: a bare \`node:http\` server
(\`bench/yardstick.ts\`) in a process of its own. Service, yardstick and load run on one machine and share its cores, so
that the absolute figures hold for this machine in this hour, the ratios for longer. Items have 46 bytes in an answer,
their ids random order (\`bench/items.ts\`).

${remarksOf(outcomes).join('\n')}
`;
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

/** What several cases remark alike stands there once. */
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

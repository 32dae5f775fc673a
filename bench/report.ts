import { cpus, release, totalmem, type } from 'node:os';
import type { Case, Measured } from './case.ts';
import { type Spread, spreadOf } from './measure.ts';

export interface Outcome {
  readonly case: Case;
  readonly measured: Measured;
}

const headings = [
  'case',
  'against',
  'yardstick median [min–max]',
  'ours median [min–max]',
  'ratio median [min–max]',
  'goal',
  'met',
];

/** The table as the terminal shows it, with the remarks below. */
export function plainReport(outcomes: readonly Outcome[]): string {
  const rows = [headings, ...outcomes.map(rowOf)];
  const widths = headings.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return [...lines.map((line) => line.trimEnd()), '', ...remarksOf(outcomes)].join('\n');
}

export interface Circumstances {
  /** What was typed. */
  readonly command: string;
  readonly wrkVersion: string;
  readonly rounds: number;
  readonly seconds: number;
}

/** The contents of RESULTS.md. */
export function writtenReport(outcomes: readonly Outcome[], circumstances: Circumstances): string {
  const { command, wrkVersion, rounds, seconds } = circumstances;
  const table = [headings, headings.map(() => '---'), ...outcomes.map(rowOf)];
  return `# Benchmark results

Written by the harness; to renew it, run the command again.

- Date: ${new Date().toISOString().slice(0, 10)}
- Machine: ${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory
- System: ${type()} ${release()}, Node ${process.version}, ${wrkVersion}
- Command: \`${command}\`

${table.map((row) => `| ${row.join(' | ')} |`).join('\n')}

${outcomes.map((outcome) => `- \`${outcome.case.name}\` ${outcome.case.summary}.`).join('\n')}

## How it is measured

The yardstick is the least that HTTP on the same Node costs: a bare \`node:http\` server (\`bench/yardstick.ts\`) in a
process of its own. In each of ${rounds} rounds wrk (1 thread, 64 connections) puts first the yardstick, then the service
under load for ${seconds} s, after one uncounted warm-up of each. The ratio is taken within each round; the table shows
the median of the ratios, which is not the ratio of the medians. Service, yardstick and load run on one machine and
share its cores, so that the absolute figures hold for this machine in this hour, the ratios for longer.

${remarksOf(outcomes).join('\n')}
`;
}

function rowOf({ case: { name, goal }, measured }: Outcome): string[] {
  const { unit, yardstick, ours } = measured;
  const spread = spreadOf(ours);
  const ratio = ratioOf(measured);
  return [
    name,
    yardstick?.name ?? '–',
    yardstick === undefined ? '–' : `${spreadText(spreadOf(yardstick.figures), whole)} ${unit}`,
    `${spreadText(spread, whole)} ${unit}`,
    ratio === undefined ? '–' : spreadText(ratio, thousandths),
    goal.kind === 'ratio' ? `≥ ${goal.least.toFixed(2)}` : `≤ ${goal.mostMs} ms`,
    (goal.kind === 'ratio' ? ratio !== undefined && ratio.median >= goal.least : spread.median <= goal.mostMs)
      ? 'yes'
      : 'no',
  ];
}

function ratioOf({ yardstick, ours }: Measured): Spread | undefined {
  if (yardstick === undefined) return undefined;
  return spreadOf(ours.map((figure, round) => figure / (yardstick.figures[round] as number)));
}

function remarksOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap((outcome) =>
    outcome.measured.remarks.map((remark) => `- \`${outcome.case.name}\`: ${remark}`),
  );
}

function spreadText({ median, min, max }: Spread, text: (figure: number) => string): string {
  return `${text(median)} [${text(min)}–${text(max)}]`;
}

function whole(figure: number): string {
  return Math.round(figure).toLocaleString('en');
}

function thousandths(figure: number): string {
  return figure.toFixed(3);
}

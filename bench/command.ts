import { parseArgs } from 'node:util';
import type { Case } from './case.ts';

/** The parsed arguments of `npm run bench`. */
export interface Command {
  readonly chosen: readonly Case[];
  readonly rounds: number;
  readonly seconds: number;
  readonly quick: boolean;
  readonly help: boolean;
  readonly write: boolean;
  readonly serveArguments: readonly string[];
}

export function usage(cases: readonly Case[]): string {
  const width = Math.max(...cases.map(({ name }) => name.length));
  return `Usage: npm run bench -- [case…] [--rounds N] [--seconds N] [--workers N] [--quick | --write]

  --rounds   rounds of load per case (5)
  --seconds  seconds of load per measurement (3)
  --workers  passed to \`counterfoil serve\`; without it the service runs as it does by default
  --quick    tables of a hundredth of the size, 2 rounds of 1 s: checks that a case works; its figures mean nothing
  --write    write the report to bench/RESULTS.md (rivals: RIVALS.md) and the charts to docs/

Cases (default: all but rivals):
${cases.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join('\n')}
`;
}

/** Throws when the arguments are invalid. */
export function parseCommand(args: readonly string[], cases: readonly Case[]): Command {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      workers: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.find((name) => !cases.some((each) => each.name === name));
  if (unknown !== undefined) throw new Error(`there is no case "${unknown}"`);
  const { quick, write, workers, help } = values;
  if (quick && write) throw new Error('--quick cannot be combined with --write');
  return {
    chosen: cases.filter(({ name, isAlone = false }) =>
      positionals.length === 0 ? !isAlone : positionals.includes(name),
    ),
    rounds: count('--rounds', values.rounds ?? (quick ? '2' : '5')),
    seconds: count('--seconds', values.seconds ?? (quick ? '1' : '3')),
    quick,
    write,
    help,
    serveArguments: workers === undefined ? [] : ['--workers', workers],
  };
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`${option} must be a whole number from 1 to 9999`);
  return Number(text);
}

/** The command line as the user typed it, as far as it is known. */
export function commandLine(args: readonly string[]): string {
  if (process.env.npm_lifecycle_event !== 'bench') return ['node bench/run.ts', ...args].join(' ');
  return args.length === 0 ? 'npm run bench' : ['npm run bench --', ...args].join(' ');
}

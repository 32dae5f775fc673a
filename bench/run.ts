import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Case, Conditions } from './case.ts';
import { create } from './cases/create.ts';
import { readTen } from './cases/read-10.ts';
import { start } from './cases/start.ts';
import { type Outcome, plainReport, writtenReport } from './report.ts';
import { Workplace } from './workplace.ts';

/** `npm run bench`: reports, does not judge. Exit 1 where something could not be measured, 2 for a wrong command. */

const cases: readonly Case[] = [readTen, create, start];

const usage = `Usage: npm run bench -- [name…] [--rounds N] [--seconds N] [--write]

  name       one of ${cases.map(({ name }) => name).join(', ')}; all without one
  --rounds   rounds of load per case (5)
  --seconds  seconds of load per measurement (3)
  --write    write the report to bench/RESULTS.md
`;

interface Command {
  readonly chosen: readonly Case[];
  readonly rounds: number;
  readonly seconds: number;
  readonly write: boolean;
}

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let command: Command;
  try {
    command = parseCommand(args);
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  const wrkVersion = findWrk();
  if (wrkVersion === undefined) {
    process.stderr.write('bench: needs wrk on the PATH; on Debian and Ubuntu: apt-get install wrk\n');
    return 1;
  }
  const outcomes = await measureAll(command);
  if (outcomes.length > 0) process.stdout.write(`\n${plainReport(outcomes)}\n`);
  if (outcomes.length < command.chosen.length) {
    if (command.write) process.stderr.write('bench: RESULTS.md is left as it was, since a case failed\n');
    return 1;
  }
  if (command.write) {
    const text = writtenReport(outcomes, { ...command, command: commandLine(args), wrkVersion });
    writeFileSync(new URL('RESULTS.md', import.meta.url), text);
  }
  return 0;
}

function parseCommand(args: readonly string[]): Command {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      write: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.find((name) => !cases.some((each) => each.name === name));
  if (unknown !== undefined) throw new Error(`there is no case "${unknown}"`);
  return {
    chosen: cases.filter(({ name }) => positionals.length === 0 || positionals.includes(name)),
    rounds: count('--rounds', values.rounds),
    seconds: count('--seconds', values.seconds),
    write: values.write,
  };
}

function count(option: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`${option} must be a whole number from 1 to 9999`);
  return Number(text);
}

/** What wrk calls itself, or undefined where it is missing. */
function findWrk(): string | undefined {
  // It prints its version beside its usage, and exits with 1.
  const { error, stdout, stderr } = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  return error === undefined ? /^wrk \S+/m.exec(stdout + stderr)?.[0] : undefined;
}

/** One case after the other; one that fails does not keep the others from being measured. */
async function measureAll({ chosen, rounds, seconds }: Command): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const tell = (line: string) => process.stderr.write(`${line}\n`);
  for (const each of chosen) {
    tell(`${each.name}: ${each.summary}`);
    try {
      outcomes.push({ case: each, measured: await measure(each, { rounds, seconds, tell }) });
    } catch (error) {
      process.stderr.write(`bench: ${each.name} failed: ${(error as Error).message}\n`);
    }
  }
  return outcomes;
}

async function measure(each: Case, conditions: Conditions): Promise<Outcome['measured']> {
  const workplace = new Workplace();
  let interrupted = false;
  // Without its processes the case fails at once, and leaves by the way below.
  const interrupt = () => {
    interrupted = true;
    void workplace.close();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    return await each.measure(workplace, conditions);
  } finally {
    await workplace.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    if (interrupted) process.exit(1);
  }
}

function commandLine(args: readonly string[]): string {
  if (process.env.npm_lifecycle_event !== 'bench') return ['node bench/run.ts', ...args].join(' ');
  return args.length === 0 ? 'npm run bench' : ['npm run bench --', ...args].join(' ');
}

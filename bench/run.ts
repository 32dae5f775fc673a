import { writeFileSync } from 'node:fs';
import type { Case, Conditions } from './case.ts';
import { cases } from './cases.ts';
import { type Command, commandLine, parseCommand, usage } from './command.ts';
import { writePlots } from './plots.ts';
import { type Outcome, plainReport, writtenReport } from './report.ts';
import { fullSizes, quickSizes } from './sizes.ts';
import { Stock } from './stock.ts';
import { missingTool, toolVersions, wrk } from './tools.ts';
import { Workplace, within } from './workplace.ts';

/** `npm run bench`: reports, does not judge. Exit 1 where something could not be measured, 2 for a wrong command. */

/** Far beyond what any case honestly needs on a slow machine, so that only what hangs runs into it. */
const caseMsMax = 30 * 60_000;

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  let command: Command;
  try {
    command = parseCommand(args, cases);
  } catch (error) {
    process.stderr.write(`bench: ${(error as Error).message}\n\n${usage(cases)}`);
    return 2;
  }
  if (command.help) {
    process.stdout.write(usage(cases));
    return 0;
  }
  const missing = missingTool(wrk);
  if (missing !== undefined) {
    process.stderr.write(`bench: ${missing}\n`);
    return 1;
  }
  const began = performance.now();
  const outcomes = await measureAll(command);
  const minutes = (performance.now() - began) / 60_000;
  if (outcomes.length > 0) process.stdout.write(`\n${plainReport(outcomes)}\n`);
  if (outcomes.length < command.chosen.length) {
    if (command.write) process.stderr.write('bench: RESULTS.md is left as it was, since a case failed\n');
    return 1;
  }
  if (command.write) await write(outcomes, { ...command, command: commandLine(args), minutes });
  return 0;
}

type Written = Pick<Command, 'rounds' | 'seconds'> & { readonly command: string; readonly minutes: number };

async function write(outcomes: readonly Outcome[], written: Written): Promise<void> {
  const curves = outcomes.flatMap(({ measured }) => measured.curves ?? []);
  const names = await writePlots(curves, new URL('../docs/', import.meta.url));
  const pictures = names.map((name) => `../docs/${name}`);
  const text = writtenReport(outcomes, { ...written, tools: toolVersions(), pictures });
  writeFileSync(new URL('RESULTS.md', import.meta.url), text);
}

/** One case after the other; one that fails does not keep the others from being measured. */
async function measureAll({ chosen, rounds, seconds, quick, serveArguments }: Command): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const tell = (line: string) => process.stderr.write(`${line}\n`);
  const stock = new Stock();
  const sizes = quick ? quickSizes : fullSizes;
  const conditions: Conditions = { rounds, seconds, sizes, stock, serveArguments, tell };
  try {
    for (const each of chosen) {
      tell(`${each.name}: ${each.summary}`);
      try {
        const measured = await measure(each, conditions);
        if (measured === 'interrupted') break;
        outcomes.push({ case: each, measured });
      } catch (error) {
        process.stderr.write(`bench: ${each.name} failed: ${(error as Error).message}\n`);
        stock.clear();
      }
    }
  } finally {
    stock.clear();
  }
  return outcomes;
}

async function measure(each: Case, conditions: Conditions): Promise<Outcome['measured'] | 'interrupted'> {
  const workplace = new Workplace();
  let interrupted = false;
  // Without its processes the case fails at once, and leaves by the way below.
  const interrupt = () => {
    interrupted = true;
    void workplace.close();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    return await within(caseMsMax, each.measure(workplace, conditions));
  } catch (error) {
    if (interrupted) return 'interrupted';
    throw error;
  } finally {
    await workplace.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

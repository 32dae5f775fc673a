import { writeFileSync } from 'node:fs';
import type { Case, Conditions } from './case.ts';
import { cases } from './cases.ts';
import { type Command, commandLine, parseCommand, usage } from './command.ts';
import { Environment, within } from './environment.ts';
import { Fixtures } from './fixtures.ts';
import { writePlots, writeRatioPlots } from './plots.ts';
import { type Outcome, plainReport, writtenPage, writtenReport } from './report.ts';
import { fullSizes, quickSizes } from './sizes.ts';
import { missingTool, toolVersions, wrk } from './tools.ts';

/**
 * `npm run bench`. Exits with 1 if a case could not be measured, and with 2 for a wrong command; goals are only
 * reported.
 */

/** Far more than any case needs on a slow machine, so that only a hanging case reaches it. */
const caseMsMax = 90 * 60_000;
const charts = new URL('../docs/', import.meta.url);

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
    if (command.write) process.stderr.write('bench: nothing is written, because a case failed\n');
    return 1;
  }
  if (command.write) await write(outcomes, { ...command, command: commandLine(args), minutes });
  return 0;
}

type Written = Pick<Command, 'rounds' | 'seconds'> & { readonly command: string; readonly minutes: number };

async function write(outcomes: readonly Outcome[], written: Written): Promise<void> {
  const circumstances = { ...written, tools: toolVersions() };
  for (const { measured } of outcomes) {
    if (measured.page === undefined) continue;
    await writeRatioPlots(measured.page.plots, charts);
    writeFileSync(new URL(measured.page.file, import.meta.url), writtenPage(measured.page, circumstances));
  }
  const tabled = outcomes.filter(({ measured }) => measured.page === undefined);
  if (tabled.length === 0) return;
  const curves = tabled.flatMap(({ measured }) => measured.curves ?? []);
  const names = await writePlots(curves, charts);
  const pictures = names.map((name) => `../docs/${name}`);
  writeFileSync(
    new URL('RESULTS.md', import.meta.url),
    writtenReport(tabled, { ...circumstances, pictures }),
  );
}

/** Measures one case after the other. If one fails, the others are measured nevertheless. */
async function measureAll({ chosen, rounds, seconds, quick, serveArguments }: Command): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const log = (line: string) => process.stderr.write(`${line}\n`);
  const fixtures = new Fixtures();
  const sizes = quick ? quickSizes : fullSizes;
  const conditions: Conditions = { rounds, seconds, sizes, fixtures, serveArguments, log };
  try {
    for (const each of chosen) {
      log(`${each.name}: ${each.summary}`);
      try {
        const measured = await measure(each, conditions);
        if (measured === 'interrupted') break;
        outcomes.push({ case: each, measured });
      } catch (error) {
        process.stderr.write(`bench: ${each.name} failed: ${(error as Error).message}\n`);
        fixtures.clear();
      }
    }
  } finally {
    fixtures.clear();
  }
  return outcomes;
}

async function measure(each: Case, conditions: Conditions): Promise<Outcome['measured'] | 'interrupted'> {
  const environment = new Environment();
  let interrupted = false;
  // Without its processes the case fails at once, and the `finally` block below runs.
  const interrupt = () => {
    interrupted = true;
    void environment.close();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    return await within(caseMsMax, each.measure(environment, conditions));
  } catch (error) {
    if (interrupted) return 'interrupted';
    throw error;
  } finally {
    await environment.close();
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

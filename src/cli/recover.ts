import { resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, type JsonOption } from './command.ts';
import { hint, printResult } from './output/print.ts';
import { ProgressBar } from './output/progress-bar.ts';

type Recovered = Awaited<ReturnType<typeof import('../app/restore.ts').recoverData>>;
type RecoveredSpace = Recovered['spaces'][number];

/** `counterfoil recover`: exits with 0 if everything was saved, with 1 if anything is missing. */
export function defineRecover(command: Command): void {
  describe(command, {
    description:
      'Save what can be read of a damaged store into a new one, and print what is missing. The old folder is not changed. ' +
      'Stop the service first. Exits with 1 if anything is missing.',
    examples: ['recover ./data /srv/new'],
  })
    .argument('<old>', 'the data folder with the damaged store')
    .argument('<new>', 'the new data folder, which must be empty')
    .action(recover);
}

async function recover(from: string, to: string, { json }: JsonOption): Promise<void> {
  const { recoverData } = await import('../app/restore.ts');
  const bar = new ProgressBar();
  const progress = (done: number, total: number) => bar.show(done, total, 'saving');
  const recovered = await recoverData(resolve(from), resolve(to), progress).finally(() => bar.clear());
  const { isWhole, problems, spaces, arePaymentsShut } = recovered;
  const saved = spaces.reduce((sum, { items }) => sum + items, 0);
  printResult(
    json,
    { is_whole: isWhole, problems, are_payments_shut: arePaymentsShut, spaces: spaces.map(jsonOf) },
    [
      ...problems,
      ...spaces.flatMap(linesOf),
      `${saved} items saved to ${resolve(to)}: ${isWhole ? 'nothing is missing' : 'some of the store is missing'}`,
    ],
  );
  if (!json && arePaymentsShut)
    hint(
      'Payments are shut, because some may be missing. Start with the same master key, and run counterfoil payments reconcile --adopt.',
    );
  if (!isWhole) process.exitCode = 1;
}

function jsonOf({ space, items, expected, lost }: RecoveredSpace): object {
  const ranges = lost.map(({ after, upTo }) => ({ after: after ?? null, up_to: upTo ?? null }));
  return { space, items, expected: expected ?? null, lost: ranges };
}

/** Nothing for a space that is whole. */
function linesOf({ space, items, expected, lost }: RecoveredSpace): string[] {
  if (items === expected) return [];
  const ranges = lost.map(({ after, upTo }) => {
    const from = after === undefined ? 'from the beginning' : `behind ${JSON.stringify(after)}`;
    return `${space}: lost are ids ${from} ${upTo === undefined ? 'to the end' : `up to ${JSON.stringify(upTo)}`}`;
  });
  const count = expected === undefined ? 'and its count is lost' : `of ${expected}`;
  return [`${space}: ${items} items saved, ${count}`, ...ranges];
}

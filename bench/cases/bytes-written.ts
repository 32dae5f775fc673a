import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Case, Row } from '../case.ts';
import type { Environment } from '../environment.ts';
import { countText, shortNumber } from '../measure.ts';
import { sourceFile } from '../source-file.ts';

const valueCharacters = 260;
/** `{"id":"000000000000","name":"…"},` */
const itemBytes = valueCharacters + 33;
const pageBytes = 4_096;
/** Long enough that the journal is compacted several times. */
const secondsPerSecond = 4;
const loads = [
  { writers: 64, items: 1_000 },
  { writers: 64, items: 20_000 },
  { writers: 64, items: 100_000 },
  { writers: 1, items: 20_000 },
] as const;
type Load = (typeof loads)[number];

/** What the embedded store writes for an update. */
export const bytesWritten: Case = {
  name: 'bytes-written',
  summary: 'counts the bytes that the store writes for each update of an item of 293 bytes',

  async measure(environment, { rounds, seconds, log }) {
    if (!existsSync('/proc/self/io'))
      return {
        rows: [
          {
            name: 'bytes written',
            goal: { of: 'figure', side: 'most' },
            missing: 'needs /proc, as Linux has it',
          },
        ],
        remarks: [],
      };
    const found = new Map<Load, number[]>(loads.map((load) => [load, []]));
    for (let round = 1; round <= rounds; round++) {
      for (const load of loads) found.get(load)?.push(await bytesPerUpdate(environment, load, seconds));
      const shown = loads.map((load) => `${nameOf(load)} ${shortNumber(found.get(load)?.at(-1) ?? 0)} B`);
      log(`  round-${round}: ${shown.join(', ')}`);
    }
    return {
      rows: loads.map((load): Row => rowOf(load, found.get(load) ?? [])),
      remarks: [
        'Bytes of all write calls of a process that has the store open, and of its compaction at the end; each run begins by ' +
          'creating the items that it updates. The items are random ones of the table.',
      ],
    };
  },
};

function nameOf({ writers, items }: Load): string {
  return `${writers === 1 ? 'one writer' : `${writers} writers`}, ${countText(items)} items`;
}

function rowOf(load: Load, ours: readonly number[]): Row {
  const isAlone = load.writers === 1;
  const [name, bytes, bound] = isAlone ? ['a page', pageBytes, 2] : ['the item', itemBytes, 8];
  return {
    name: `written per update: ${nameOf(load)}`,
    unit: 'B',
    ours,
    yardstick: { name, figures: ours.map(() => bytes) },
    goal: { of: 'ratio', side: 'most', bound },
  };
}

async function bytesPerUpdate(environment: Environment, load: Load, seconds: number): Promise<number> {
  const folder = join(environment.folder, 'written');
  const run = async (writers: number, forSeconds: number) => {
    const args = [folder, load.items, writers, forSeconds, valueCharacters].map(String);
    const output = await environment.run(process.execPath, [sourceFile('write-load.ts'), ...args]);
    return JSON.parse(output) as { updates: number; bytes: number };
  };
  try {
    // So many updates create most of the items.
    await run(256, seconds * secondsPerSecond);
    const { updates, bytes } = await run(load.writers, seconds * secondsPerSecond);
    return bytes / updates;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { bytesOnDisk } from '../disk.ts';
import { itemsBytes, takeStream } from '../items.ts';
import { countText, shortNumber } from '../measure.ts';
import { sourceFile } from '../source-file.ts';

const bytesPerMegabyte = 1_000_000;

/** What a store that is written to in no order takes up for what it holds. */
export const disk: Case = {
  name: 'disk',
  summary: 'creates items one by one in random order and looks how much disk they take',

  async measure(workplace, { rounds, sizes, tell }) {
    const items = itemsBytes(sizes.large) / bytesPerMegabyte;
    const used: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      const folder = join(workplace.folder, `disk-${round}`);
      const began = performance.now();
      // Each round in another order, as each has other ids.
      const table = `created=${sizes.large}@${takeStream()}`;
      await workplace.run(process.execPath, [sourceFile('fill.ts'), folder, 'single', table]);
      const seconds = (performance.now() - began) / 1_000;
      const megabytes = bytesOnDisk(folder) / bytesPerMegabyte;
      used.push(megabytes);
      rmSync(folder, { recursive: true });
      tell(`  round-${round}: ${shortNumber(megabytes)} MB, made in ${seconds.toFixed(1)} s`);
    }
    return {
      rows: [
        {
          name: `disk, ${countText(sizes.large)} creates`,
          unit: 'MB',
          ours: used,
          yardstick: { name: 'bytes of the items', figures: used.map(() => items) },
          goal: { of: 'ratio', side: 'most', bound: 3, aim: 2 },
        },
      ],
      remarks: [
        'Every create is a commit of its own, 256 under way at once, by way of the engine without HTTP. Counted are ' +
          'the blocks of all files in the data folder once the store is closed; the bytes of the items are those ' +
          'that they have in an answer.',
      ],
    };
  },
};

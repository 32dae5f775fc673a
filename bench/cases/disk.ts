import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { bytesOnDisk } from '../disk.ts';
import { itemsBytes, takeStream } from '../items.ts';
import { countText, shortNumber } from '../measure.ts';
import { sourceFile } from '../source-file.ts';

const bytesPerMegabyte = 1_000_000;

/** The disk space of a store that was written in random order, compared with the items in it. */
export const disk: Case = {
  name: 'disk',
  summary: 'creates items one by one in random order and measures the disk space that they take',

  async measure(environment, { rounds, sizes, log }) {
    const items = itemsBytes(sizes.large) / bytesPerMegabyte;
    const used: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      const folder = join(environment.folder, `disk-${round}`);
      const began = performance.now();
      // Each round has other ids, and so another order.
      const table = `created=${sizes.large}@${takeStream()}`;
      await environment.run(process.execPath, [sourceFile('fill.ts'), folder, 'single', table]);
      const seconds = (performance.now() - began) / 1_000;
      const megabytes = bytesOnDisk(folder) / bytesPerMegabyte;
      used.push(megabytes);
      rmSync(folder, { recursive: true });
      log(`  round-${round}: ${shortNumber(megabytes)} MB, made in ${seconds.toFixed(1)} s`);
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
        'Every create is a commit of its own, 256 at once, through the engine without HTTP. The figure counts the ' +
          'blocks of all files in the data folder after the store is closed; the bytes of the items are those that ' +
          'they have in a response.',
      ],
    };
  },
};

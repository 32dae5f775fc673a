import { createInterface } from 'node:readline';
import { open } from 'lmdb';

/**
 * A store that does not flush, or does, to try a disk with: `FILE put noSync` acknowledges each put by a line with
 * its number, for each line it is given; `FILE count noSync` prints how many numbers are there.
 */
const [file = '', verb = '', flushing = ''] = process.argv.slice(2);
const numbers = open<boolean, number>({
  path: file,
  noSync: flushing === 'noSync',
  overlappingSync: false,
});

if (verb === 'count') {
  process.stdout.write(`${[...numbers.getKeys()].length}\n`);
} else {
  let number = 0;
  for await (const _line of createInterface({ input: process.stdin })) {
    numbers.putSync(number, true);
    process.stdout.write(`${number++}\n`);
  }
}

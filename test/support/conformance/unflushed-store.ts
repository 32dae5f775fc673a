import { createInterface } from 'node:readline';
import { open } from 'lmdb';

/**
 * A store with or without flushes, to test a disk. `FILE put noSync` makes a put for each line of its input, and
 * acknowledges it by a line with its number; `FILE count noSync` prints the number of puts in the store.
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

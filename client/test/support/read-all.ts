import { Counterfoil, type Item } from '../../src/index.ts';

/** Reads a table item by item, checks the order, and prints the number of items and the memory that it took. */
const [url = '', table = ''] = process.argv.slice(2);
let count = 0;
let last: Item | undefined;
for await (const item of new Counterfoil({ url }).table(table).all()) {
  if (last !== undefined && item.id <= last.id) throw new Error(`${item.id} follows ${last.id}`);
  last = item;
  count++;
}
const residentBytes = process.resourceUsage().maxRSS * 1_024;
process.stdout.write(JSON.stringify({ count, last, residentBytes }));

// Plain JavaScript on the built client: Node would need 20 MB of its own to run TypeScript.
// Usage: node read-all.mjs CLIENT ORIGIN SMALL LARGE: reads a small table, and then a large one item by item.
import { readFileSync } from 'node:fs';

const [client, url, small, large] = process.argv.slice(2);
const { Counterfoil } = await import(client);
const counterfoil = new Counterfoil({ url });
// The peak of this program alone: `maxRSS` of `process.resourceUsage()` begins with the memory of the process that started it.
const peakBytes = () =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1_024;

for await (const _ of counterfoil.table(small).all());
const baseBytes = peakBytes();
let count = 0;
let last;
for await (const item of counterfoil.table(large).all()) {
  if (last !== undefined && item.id <= last.id) throw new Error(`${item.id} follows ${last.id}`);
  last = item;
  count++;
}
process.stdout.write(JSON.stringify({ count, last, baseBytes, peakBytes: peakBytes() }));

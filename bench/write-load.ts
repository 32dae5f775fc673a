import { readFileSync } from 'node:fs';
import type { Write } from '../src/storage/engine.ts';
import { openLmdbEngine } from '../src/storage/lmdb/open.ts';
import { anyId } from './items.ts';

/**
 * Updates random items of the table `items` through the engine, and prints how many updates it made and how many bytes the process
 * wrote for them, as JSON. Without the service in the process, all bytes are the store's.
 *
 * Usage: node bench/write-load.ts FOLDER ITEMS WRITERS SECONDS VALUE_CHARACTERS
 */
const [folder = '', ...numbers] = process.argv.slice(2);
const [items = 0, writers = 0, seconds = 0, characters = 0] = numbers.map(Number);
const engine = openLmdbEngine(folder);
const before = bytesWritten();
const until = performance.now() + seconds * 1_000;
let updates = 0;
await Promise.all(Array.from({ length: writers }, write));
// What was not compacted yet is compacted at the end, and counts.
await engine.close();
console.log(JSON.stringify({ updates, bytes: bytesWritten() - before }));

async function write(): Promise<void> {
  while (performance.now() < until) {
    const value = String(updates++).padEnd(characters, 'x');
    const change: Write = { kind: 'put', space: 'table:items', id: anyId(items), value, makeSpace: true };
    const rejection = await engine.commit([change]);
    if (rejection !== undefined) throw new Error(`an update was rejected: ${rejection.reason}`);
  }
}

/** By system calls (proc(5): `wchar`). The disk writes whole pages of it; `write_bytes` counts pages that were not changed, too. */
function bytesWritten(): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

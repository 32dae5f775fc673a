import type { Engine, Write } from '../src/storage/engine.ts';
import { openLmdbEngine } from '../src/storage/lmdb/open.ts';
import { firstVersion, idNumber, idText, nameText, streamItems } from './items.ts';

/**
 * Fills tables through the engine, which is much faster than HTTP and has the same result.
 *
 * Usage: node bench/fill.ts FOLDER bulk|single TABLE=COUNT…
 *
 * - `bulk`: 100 items per commit. The ids are sorted into runs, and are in random order within each run. So the leaves
 *   fill and split as they do under creates in random order, but a flush touches few of them: it takes minutes where
 *   true random order takes hours.
 * - `single`: one item per commit, all in random order, as by many callers at once.
 *
 * A table's items are the first COUNT of stream 0, or those from `COUNT@STREAM`.
 */
interface Way {
  readonly writesPerCommit: number;
  readonly commitsInFlight: number;
  readonly runItems: number;
}

const ways: Readonly<Record<string, Way>> = {
  bulk: { writesPerCommit: 100, commitsInFlight: 1_000, runItems: 500_000 },
  single: { writesPerCommit: 1, commitsInFlight: 256, runItems: Number.POSITIVE_INFINITY },
};

const [folder, wayName, ...tables] = process.argv.slice(2);
const way = ways[wayName ?? ''];
if (folder === undefined || way === undefined)
  throw new Error('usage: fill.ts FOLDER bulk|single TABLE=COUNT…');

const fillings = tables.map(parseFilling);
const engine = await openLmdbEngine(folder);
// All callers share one list; each takes its next commit when its last one is done.
const commits = commitsOf(fillings, way);
await Promise.all(Array.from({ length: way.commitsInFlight }, () => commitAll(engine, commits)));
await engine.close();

interface Filling {
  readonly name: string;
  readonly count: number;
  readonly first: number;
}

function parseFilling(text: string): Filling {
  const [, name, count, stream] = /^([^=]+)=(\d+)(?:@(\d+))?$/.exec(text) ?? [];
  if (name === undefined) throw new Error(`no TABLE=COUNT: ${text}`);
  return { name, count: Number(count), first: Number(stream ?? 0) * streamItems };
}

async function commitAll(store: Engine, all: Iterable<readonly Write[]>): Promise<void> {
  for (const writes of all) {
    const rejection = await store.commit(writes);
    if (rejection !== undefined) throw new Error(`a create was rejected: ${rejection.reason}`);
  }
}

function* commitsOf(all: readonly Filling[], { writesPerCommit, runItems }: Way): Generator<Write[]> {
  for (const filling of all) {
    const numbers = numbersOf(filling, runItems);
    for (let first = 0; first < numbers.length; first += writesPerCommit) {
      const piece = numbers.subarray(first, first + writesPerCommit);
      yield Array.from(piece, (number) => createOf(filling.name, number));
    }
  }
}

function createOf(table: string, number: number): Write {
  return {
    kind: 'create',
    space: `table:${table}`,
    id: idText(number),
    value: nameText(firstVersion),
    makeSpace: true,
  };
}

/** The ids in the order in which they are created: runs of neighboring ids, each in random order (a counting sort). */
function numbersOf({ count, first }: Filling, runItems: number): Float64Array {
  const numbers = Float64Array.from({ length: count }, (_, index) => idNumber(first + index));
  const runs = Math.ceil(count / runItems);
  if (runs <= 1) return numbers;
  const runOf = (number: number) => Math.floor((number / 2 ** 48) * runs);
  const starts = new Uint32Array(runs + 1);
  for (const number of numbers) starts[runOf(number) + 1] = (starts[runOf(number) + 1] ?? 0) + 1;
  for (let run = 1; run <= runs; run++) starts[run] = (starts[run] ?? 0) + (starts[run - 1] ?? 0);
  const sorted = new Float64Array(count);
  for (const number of numbers) {
    const place = starts[runOf(number)] ?? 0;
    sorted[place] = number;
    starts[runOf(number)] = place + 1;
  }
  return sorted;
}

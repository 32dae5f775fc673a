import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Space, Write } from '../../src/storage/engine.ts';
import { readNodes } from '../../src/storage/lmdb/file/page-nodes.ts';
import {
  childPage,
  headerBytes,
  inNode,
  inOverflow,
  nodeFlags,
  pageBytes,
  readHead,
  readNumber,
  readTree,
  treeBytes,
} from '../../src/storage/lmdb/file/pages.ts';
import { count, isLong } from '../support/extent.ts';
import { between, type Random, randomFrom, seedOf } from '../support/random.ts';
import type { Damage } from '../support/storage/damage.ts';
import type { Content, Task } from '../support/storage/damage-drill.ts';
import { StoreOpener } from '../support/storage/store-opener.ts';

const program = join(import.meta.dirname, '../support/storage/damage-drill.ts');
const memory = '/dev/shm';
/** The library leaks some memory at each opening. */
const damagesPerProcess = 400;
const atOnce = 2;

interface Source {
  readonly folder: string;
  readonly file: string;
  readonly content: Content;
  readonly bytes: number;
}

/** A small store with small and large items, a removed and an empty table, pages that are free, and a journal. */
async function makeSource(t: TestContext): Promise<Source> {
  // In memory, if possible: thousands of copies are made and flushed.
  const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), 'counterfoil-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'source.mdb');
  const opener = new StoreOpener(file);
  const content: Content = {};
  const commit = (writes: readonly Write[]) =>
    opener.transact(() => {
      for (const result of opener.committer.carryOut(writes.map((write) => [write])))
        assert.equal(result, undefined);
    });
  const put = (space: Space, ids: readonly string[], name: (id: string) => string) => {
    commit(ids.map((id) => ({ kind: 'put', space, id, value: name(id), makeSpace: true })));
    for (const id of ids) content[space] = { ...content[space], [id]: name(id) };
  };
  const ids = (count: number) =>
    Array.from({ length: count }, (_, n) => `item-${String(n * 7).padStart(4, '0')}`);
  put('table:small', ids(5), (id) => `Name of ${id}`);
  put('table:large', ids(150), (id) => `Näme of ${id} "quoted"`.repeat(2));
  put('table:huge', ['one'], () => 'x'.repeat(9_000));
  put('service:payments', ids(40), (id) => JSON.stringify({ state: 'succeeded', id, amount: 1050 }));
  put('table:gone', ['a'], () => 'b');
  commit([{ kind: 'delete', space: 'table:gone', id: 'a' }]);
  opener.compactAll();
  opener.transact(() => opener.committer.carryOut([[{ kind: 'remove', space: 'table:gone', id: '' }]]));
  delete content['table:gone'];
  put('table:large', ids(30), (id) => `changed ${id}`);
  opener.compactAll();
  put('table:small', ['item-0000', 'new'], (id) => `later ${id}`);
  put('service:payments', ['item-0007'], () => '{"state":"refunded"}');
  put('table:new', ['first'], () => 'in the journal alone');
  await opener.close();
  return { folder, file, content, bytes: statSync(file).size };
}

/** The heads of pages and their ends, where the keys are: a byte does most harm there. */
const shortRanges = [
  [0, 159],
  [pageBytes - 300, pageBytes - 1],
  [160, pageBytes - 1],
] as const;

/** Of every byte one bit is changed; a short run takes some bytes of each page. */
function altered({ bytes }: Source, random: Random): Damage[] {
  const damages: Damage[] = [];
  const perPage = count({ short: 15, long: pageBytes });
  for (let page = 0; page < bytes / pageBytes; page++) {
    for (let n = 0; n < perPage; n++) {
      const within = isLong
        ? n
        : between(random, ...(shortRanges[n % shortRanges.length] as [number, number]));
      damages.push({ kind: 'byte', at: page * pageBytes + within, bits: 2 ** between(random, 0, 7) });
    }
  }
  return damages;
}

/**
 * What no checksum of a value covers. Each byte that a whole store was once found to be wrong with is among them. A short run changes one
 * bit of each, a long run every bit.
 */
function structural({ file }: Source, random: Random): Damage[] {
  return structuralBytes(file).flatMap((at) => {
    const bits = isLong ? Array.from({ length: 8 }, (_, bit) => bit) : [between(random, 0, 7)];
    return bits.map((bit): Damage => ({ kind: 'byte', at, bits: 2 ** bit }));
  });
}

function displaced({ bytes }: Source, random: Random): Damage[] {
  const pages = bytes / pageBytes;
  const damages: Damage[] = [];
  for (let page = 0; page < pages; page++) {
    damages.push({ kind: 'zeroed', page });
    for (const by of isLong ? Array.from({ length: pages }, (_, n) => n) : [between(random, 0, pages - 1)])
      if (by !== page) damages.push({ kind: 'replaced', page, by }, { kind: 'swapped', page, by });
  }
  return damages;
}

function truncated({ bytes }: Source): Damage[] {
  return Array.from(
    { length: bytes / pageBytes - 1 },
    (_, n): Damage => ({ kind: 'truncated', pages: n + 1 }),
  );
}

const drills = {
  'one altered bit': altered,
  'an altered bit of a page, an entry or the free list': structural,
  'a page that was replaced, swapped or zeroed': displaced,
  'a file that ends too early': truncated,
} as const;

for (const [name, damagesOf] of Object.entries(drills)) {
  test(`with ${name}, a store is refused or correct, and nothing crashes`, async (t) => {
    const source = await makeSource(t);
    const damages = damagesOf(source, randomFrom(seedOf(t)));
    const outcomes = await drill(source, damages);
    const wrong = outcomes.flatMap((outcome, index) =>
      outcome === 'correct' || outcome === 'reported'
        ? []
        : [`${JSON.stringify(damages[index])}: ${outcome}`],
    );
    assert.deepEqual(wrong.slice(0, 20), []);
    const reported = outcomes.filter((outcome) => outcome === 'reported').length;
    t.diagnostic(
      `${damages.length} damages of ${source.bytes / pageBytes} pages: ${reported} reported, the others harmless`,
    );
    assert.ok(reported > damages.length / 20, `${reported} of ${damages.length} are reported`);
  });
}

test('a store without damage is correct', async (t) => {
  const source = await makeSource(t);
  assert.deepEqual(await drill(source, [{ kind: 'byte', at: 0, bits: 0 }]), ['correct']);
});

/** @returns the outcome of each damage */
async function drill(source: Source, damages: readonly Damage[]): Promise<string[]> {
  const outcomes: string[] = Array.from(damages, () => 'not tried');
  let next = 0;
  const work = async (worker: number) => {
    while (next < damages.length) {
      const from = next;
      next += damagesPerProcess;
      const some = damages.slice(from, from + damagesPerProcess);
      for (const [index, outcome] of (await outcomesOf(source, worker, some)).entries())
        outcomes[from + index] = outcome;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, worker) => work(worker)));
  return outcomes;
}

/** Starts a new process after a crash, with the damage after the one that it was. */
async function outcomesOf(source: Source, worker: number, damages: readonly Damage[]): Promise<string[]> {
  const outcomes: string[] = [];
  while (outcomes.length < damages.length) {
    const task: Task = {
      source: source.file,
      file: join(source.folder, `copy-${worker}.mdb`),
      content: source.content,
      damages: damages.slice(outcomes.length),
    };
    const taskFile = join(source.folder, `task-${worker}.json`);
    writeFileSync(taskFile, JSON.stringify(task));
    const child = spawn(process.execPath, [program, taskFile], { stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      errors += text;
    });
    const [status, signal] = (await once(child, 'close')) as [number | null, string | null];
    const lines = printed.split('\n');
    // The last line is empty, or the number of the damage at which the process ended.
    outcomes.push(...lines.slice(0, -1).map((line) => line.slice(line.indexOf(' ') + 1)));
    if (outcomes.length < damages.length)
      outcomes.push(`the process ended with ${signal ?? status}: ${errors.slice(-500)}`);
  }
  return outcomes;
}

/**
 * The bytes of a file that no checksum of a value covers: the headers, entries and keys of the pages that the newest trees of LMDB lead
 * to, and the free list. @returns where they are
 */
function structuralBytes(file: string): number[] {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = new StructuralBytes(descriptor);
    const head = readHead(descriptor);
    if (head?.free.root !== undefined) bytes.addTree(head.free, true);
    if (head !== undefined) bytes.addTree(head.main, false);
    return bytes.found;
  } finally {
    closeSync(descriptor);
  }
}

class StructuralBytes {
  readonly found: number[] = [];
  readonly #file: number;

  constructor(file: number) {
    this.#file = file;
  }

  addTree(
    { root, depth }: { readonly root: number | undefined; readonly depth: number },
    isFreeList: boolean,
  ): void {
    if (root !== undefined) this.#addPage(root, depth, isFreeList);
  }

  #addPage(number: number, level: number, isFreeList: boolean): void {
    const page = Buffer.alloc(pageBytes);
    readSync(this.#file, page, 0, pageBytes, number * pageBytes);
    const words = new DataView(page.buffer, page.byteOffset, page.length);
    const nodes = readNodes(words, level === 1);
    const add = (from: number, bytes: number) => this.#add(number, from, bytes);
    add(0, headerBytes + 2 * nodes.length);
    for (const node of nodes) {
      const value = node + inNode.key + words.getUint16(node + inNode.keyBytes, true);
      add(node, value - node);
      if (level > 1) this.#addPage(childPage(page, node), level - 1, isFreeList);
      else this.#addValue(page, node, value, add, isFreeList);
    }
  }

  #addValue(
    page: Buffer,
    node: number,
    value: number,
    add: (from: number, bytes: number) => void,
    isFreeList: boolean,
  ): void {
    const flags = page.readUInt16LE(node + inNode.flags);
    if (isFreeList) add(value, page.readUInt32LE(node + inNode.low));
    else if ((flags & nodeFlags.subDatabase) !== 0) {
      add(value, treeBytes);
      this.addTree(readTree(page, value), false);
    } else if ((flags & nodeFlags.bigData) !== 0) {
      add(value, inOverflow.bytes);
      this.#add(readNumber(page, value + inOverflow.page), 0, headerBytes);
    }
  }

  #add(page: number, from: number, bytes: number): void {
    for (let at = from; at < from + bytes; at++) this.found.push(page * pageBytes + at);
  }
}

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { open } from 'lmdb';
import type { Engine, Space } from '../../src/storage/engine.ts';
import { noteCommit, notedCommit } from '../../src/storage/lmdb/file/failure.ts';
import { readKey, readNodes } from '../../src/storage/lmdb/file/page-nodes.ts';
import { pageBytes, readHead, readTree } from '../../src/storage/lmdb/file/pages.ts';
import { recoverStore } from '../../src/storage/lmdb/file/recover/recover.ts';
import { verifyStore } from '../../src/storage/lmdb/file/verify.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { count } from '../support/extent.ts';
import { between, randomFrom, seedOf } from '../support/random.ts';
import { newDataFolder } from '../support/service.ts';
import { copyDamaged } from '../support/storage/damage.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const prepare = async () => undefined;

type Content = Map<string, Map<string, string>>;

/** A store with compacted tables, one of them empty, and a journal. */
async function makeStore(folder: string): Promise<Content> {
  mkdirSync(folder, { recursive: true });
  const content: Content = new Map([['table:empty', new Map()]]);
  const put = async (engine: Engine, space: Space, id: string, value: string) => {
    content.set(space, (content.get(space) ?? new Map<string, string>()).set(id, value));
    assert.equal(await engine.commit([{ kind: 'put', space, id, value, makeSpace: true }]), undefined);
  };
  const engine = openLmdbEngine(folder);
  await engine.commit([{ kind: 'create', space: 'table:empty', id: 'a', value: '', makeSpace: true }]);
  await engine.commit([{ kind: 'delete', space: 'table:empty', id: 'a' }]);
  for (let n = 0; n < 600; n++)
    await put(engine, 'table:books', `id-${String(n).padStart(4, '0')}`, `Näme ${n}`);
  for (let n = 0; n < 20; n++) await put(engine, 'service:payments', `pay_${n}`, '{"state":"succeeded"}');
  await put(engine, 'table:huge', 'one', 'x'.repeat(20_000));
  await engine.close();
  const again = openLmdbEngine(folder);
  await put(again, 'table:books', 'id-0003', 'changed in the journal');
  await put(again, 'table:new', 'first', 'in the journal');
  await copyBeforeCompaction(folder, again);
  return content;
}

/** Closing compacts the journal: so the file is put back as it was before. */
async function copyBeforeCompaction(folder: string, engine: Engine): Promise<void> {
  const [file, noted] = [readFileSync(storeFile(folder)), notedCommit(storeFile(folder))];
  await engine.close();
  writeFileSync(storeFile(folder), file);
  noteCommit(storeFile(folder), noted);
}

test('saves everything of a store without damage, and exits with 0', async (t) => {
  const folder = newDataFolder(t);
  const content = await makeStore(folder);
  const to = newDataFolder(t);
  const before = hashOf(storeFile(folder));
  const { status, stdout, stderr } = run(folder, to);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /^622 items saved to .*: nothing is missing\n$/);
  assert.equal(hashOf(storeFile(folder)), before);
  await assertHas(to, content);
});

test('saves everything but the items of a damaged leaf, and says which ids are lost', async (t) => {
  const folder = newDataFolder(t);
  const content = await makeStore(folder);
  alter(storeFile(folder), 'id-0300');
  const to = newDataFolder(t);
  const { status, stdout } = run(folder, to);
  assert.equal(status, 1);
  const [, saved, after, upTo] =
    /^table:books: (\d+) items saved, of 600\ntable:books: lost are ids behind "([^"]+)" up to "([^"]+)"\n\d+ items saved/.exec(
      stdout,
    ) ?? [];
  assert.ok(after !== undefined && upTo !== undefined, stdout);
  const books = content.get('table:books') as Map<string, string>;
  // An item that the journal has too is not lost.
  for (const id of [...books.keys()]) if (id > after && id <= upTo && id !== 'id-0003') books.delete(id);
  assert.ok(!books.has('id-0300'));
  assert.equal(books.size, Number(saved));
  await assertHas(to, content);
});

for (const root of ['free list', 'main database', 'leaves'] as const) {
  test(`saves what is left of a store whose root of the ${root} is zeroed`, async (t) => {
    const folder = newDataFolder(t);
    const content = await makeStore(folder);
    const file = storeFile(folder);
    const number = rootOf(file, root);
    writeAt(file, Buffer.alloc(pageBytes), number * pageBytes);
    assert.ok(number >= 2);
    assert.throws(() => openStore(file), /is damaged/);
    const to = newDataFolder(t);
    const { status, stdout } = run(folder, to);
    assert.equal(status, 1);
    assert.match(stdout, /the structure of the file is damaged \(page \d+ is another page\)/);
    // The entries of the leaves are in one page here, so that they go with it.
    if (root !== 'leaves') await assertHas(to, content, root === 'free list');
    assert.deepEqual((await verifyStore(storeFile(to))).problems, []);
  });
}

test('shuts payments when some may be lost, and not when a table of the user lacks items', async (t) => {
  for (const [text, areShut] of [
    ['pay_3', true],
    ['id-0200', false],
  ] as const) {
    const folder = newDataFolder(t);
    await makeStore(folder);
    alter(storeFile(folder), text);
    const to = newDataFolder(t);
    const { stdout } = run(folder, to, '--json');
    assert.equal((JSON.parse(stdout) as { are_payments_shut: boolean }).are_payments_shut, areShut);
    const engine = openLmdbEngine(to);
    assert.equal((await engine.get('service:restored', 'payments')) !== undefined, areShut);
    await engine.close();
  }
});

test('reports commits that were noted beside the store and are not in it', async (t) => {
  const folder = newDataFolder(t);
  await makeStore(folder);
  noteCommit(storeFile(folder), 100_000);
  const { problems } = await recoverStore(folder, newDataFolder(t), { prepare });
  assert.match(problems.join('\n'), /^\d+ of the last commits are lost, and nobody knows what they changed$/);
});

test('rejects a store of an older format, which has no checksums to go by', async (t) => {
  const folder = newDataFolder(t);
  mkdirSync(folder, { recursive: true });
  const root = open<string, string>({ path: storeFile(folder), maxDbs: 4, encoding: 'string' });
  await root.put('counterfoil', '{"format":2,"id":"0a0b0c0d"}');
  await root.close();
  await assert.rejects(
    recoverStore(folder, newDataFolder(t), { prepare }),
    /was written by an older version of Counterfoil \(format 2; this one supports 3\); use that version/,
  );
});

test('needs a store, and an empty folder', async (t) => {
  const folder = newDataFolder(t);
  await makeStore(folder);
  const none = run(newDataFolder(t), newDataFolder(t));
  assert.deepEqual([none.status, /there is no store at/.test(none.stderr)], [2, true]);
  const full = run(folder, folder);
  assert.deepEqual([full.status, /is not empty/.test(full.stderr)], [2, true]);
});

test('never saves an item with a wrong name, whatever is damaged', async (t) => {
  const random = randomFrom(seedOf(t));
  const folder = newDataFolder(t);
  const content = await makeStore(folder);
  const bytes = statSync(storeFile(folder)).size;
  let lacking = 0;
  for (let n = 0; n < count({ short: 25, long: 5_000 }); n++) {
    const damaged = newDataFolder(t);
    mkdirSync(damaged, { recursive: true });
    const page = between(random, 0, bytes / pageBytes - 1);
    const by = between(random, 0, bytes / pageBytes - 1);
    const damage =
      n % 4 === 0
        ? ({ kind: 'replaced', page, by } as const)
        : ({ kind: 'byte', at: between(random, 0, bytes - 1), bits: 2 ** between(random, 0, 7) } as const);
    copyDamaged(storeFile(folder), storeFile(damaged), damage);
    const to = newDataFolder(t);
    const { spaces, isWhole, problems } = await recoverStore(damaged, to, { prepare });
    // What the journal had is reported as possibly lost; then an item has its name of before.
    const mayBeOld = problems.length > 0;
    const engine = openLmdbEngine(to);
    for (const { space, items, expected } of spaces) {
      const found = await itemsOf(engine, space);
      assert.equal(found.size, items);
      if (isWhole) assert.equal(items, expected);
      for (const [id, name] of found) {
        const names = [content.get(space)?.get(id), ...(mayBeOld ? [`Näme ${Number(id.slice(3))}`] : [])];
        assert.ok(names.includes(name), `${JSON.stringify(damage)}: ${space} ${id} is ${name}`);
      }
    }
    if (isWhole)
      assert.deepEqual(
        spaces.map(({ space }) => space),
        [...content.keys()].sort(),
      );
    else lacking++;
    await engine.close();
    for (const each of [damaged, to]) rmSync(each, { recursive: true, force: true });
  }
  t.diagnostic(`${lacking} stores lack something`);
});

function run(
  from: string,
  to: string,
  ...options: string[]
): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [program, 'recover', from, to, ...options], {
    encoding: 'utf8',
    env: {},
  });
}

function rootOf(file: string, root: 'free list' | 'main database' | 'leaves'): number {
  const descriptor = openSync(file, 'r');
  const head = readHead(descriptor);
  closeSync(descriptor);
  assert.ok(head !== undefined);
  if (root === 'free list') return head.free.root as number;
  if (root === 'main database') return head.main.root as number;
  const main = readFileSync(file)
    .subarray((head.main.root as number) * pageBytes)
    .subarray(0, pageBytes);
  const words = new DataView(main.buffer, main.byteOffset, main.length);
  const key = [...readNodes(words, true)]
    .map((node) => readKey(main, words, node))
    .find((each) => String(each) === `${root}\0`);
  assert.ok(key !== undefined);
  // LMDB ends the names of databases with a zero. The value follows its key.
  return readTree(main, key.byteOffset + key.length - main.byteOffset).root as number;
}

/** Alters a letter of the text wherever it is in the file, in old pages too. */
function alter(file: string, text: string): void {
  const bytes = readFileSync(file);
  let changed = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    changed++;
  }
  assert.ok(changed > 0);
  writeFileSync(file, bytes);
}

function writeAt(file: string, bytes: Buffer, at: number): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

function hashOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** @param mayHaveMore whether items that were deleted before may be there */
async function assertHas(folder: string, content: Content, mayHaveMore = false): Promise<void> {
  const engine = openLmdbEngine(folder);
  try {
    if (!mayHaveMore)
      assert.deepEqual(
        (await engine.spaces()).filter((space) => space !== 'service:restored').toSorted(),
        [...content.keys()].sort(),
      );
    for (const [space, items] of content)
      for (const [id, name] of items)
        assert.equal(await engine.get(space as Space, id), name, `${space} ${id}`);
    if (!mayHaveMore)
      for (const [space, items] of content)
        assert.deepEqual((await itemsOf(engine, space as Space)).size, items.size, space);
  } finally {
    await engine.close();
  }
}

async function itemsOf(engine: Engine, space: Space): Promise<Map<string, string>> {
  const texts: string[] = [];
  for await (const chunk of (await engine.scan(space))?.chunks ?? []) texts.push(chunk.toString());
  const items = JSON.parse(`[${texts.join('')}]`) as { id: string; name: string }[];
  return new Map(items.map(({ id, name }) => [id, name]));
}

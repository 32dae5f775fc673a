import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Space } from '../../src/storage/engine.ts';
import { pageBytes } from '../../src/storage/lmdb/file/pages.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { Scraped } from '../support/metrics.ts';
import { newDataFolder, startTestService, type TestService } from '../support/service.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the damage is to the file of LMDB' : false };
/** Of the large table: several leaves, and more than one chunk of a response. */
const items = 20_000;

/** Compacted tables; in `large` one letter in the middle is altered, wherever the file has it. */
async function startDamaged(t: TestContext): Promise<TestService> {
  const data = newDataFolder(t);
  await fill(data);
  alter(storeFile(data), idOf(items / 2));
  return startTestService(t, { data });
}

async function fill(data: string): Promise<void> {
  mkdirSync(data, { recursive: true });
  const engine = openLmdbEngine(data);
  const put = (space: Space, ids: readonly string[]) =>
    engine.commit(ids.map((id) => ({ kind: 'put', space, id, value: `The name of ${id}`, makeSpace: true })));
  for (let n = 0; n < items; n += 100)
    await put(
      'table:large',
      Array.from({ length: 100 }, (_, index) => idOf(n + index)),
    );
  await put('table:other', ['a', 'b']);
  await engine.close();
}

function idOf(n: number): string {
  return `id-${String(n).padStart(6, '0')}`;
}

function alter(file: string, text: string): void {
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1))
    bytes.writeUInt8(bytes.readUInt8(at + 1) ^ 1, at + 1);
  writeFileSync(file, bytes);
}

test('a damaged part of a table is an error, and never sent; everything else works', onLmdb, async (t) => {
  const service = await startDamaged(t);
  const { status, json } = await service.get(`/v3/table/large/read?id=${idOf(items / 2)}`);
  assert.deepEqual([status, json.body.error.code], [500, 'internal']);
  await assert.rejects(service.get('/v3/table/large/read'), 'a response that has begun is cut off');
  assert.equal((await service.get('/v3/table/large/read?limit=10')).json.body.length, 10);
  assert.equal((await service.get(`/v3/table/large/read?id=${idOf(3)}`)).status, 200);
  assert.equal((await service.get('/v3/table/other/read')).json.body.length, 2);
  assert.equal((await service.get('/readyz')).status, 200);
});

test('damage is logged once, with the table and no id, and counted', onLmdb, async (t) => {
  const service = await startDamaged(t);
  assert.equal((await Scraped.from(service)).sum('counterfoil_store_damages_total'), 0);
  for (let n = 0; n < 3; n++) await service.get(`/v3/table/large/read?id=${idOf(items / 2)}`);
  const lines = service
    .logged()
    .split('\n')
    .filter((line) => line.includes('store_damaged'));
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.equal(JSON.parse(lines[0] as string).detail, 'table:large: a leaf has a wrong checksum');
  assert.equal((await Scraped.from(service)).sum('counterfoil_store_damages_total'), 1);
});

test(
  'writes that need the damaged part fail, and all others succeed, through compaction',
  onLmdb,
  async (t) => {
    const service = await startDamaged(t);
    const id = idOf(items / 2);
    const update = await service.send('PUT', '/v3/table/large/update', { id, name: 'new' });
    assert.deepEqual([update.status, update.json.body.error.code], [500, 'internal']);
    // Compaction meets the damaged leaf because of this one, which does not depend on what the leaf has.
    const inGap = { id: `${idOf(items / 2 - 1)}-`, name: 'between' };
    assert.equal((await service.post('/v3/table/large/create', inGap)).status, 500);
    for (let n = 0; n < 300; n++) {
      const made = await service.post('/v3/table/other/create', {
        id: `more-${n}`,
        name: 'x'.repeat(10_000),
      });
      assert.equal(made.status, 200, made.text);
    }
    assert.equal((await service.get('/v3/table/other/read?count=true')).json.body.count, 302);
  },
);

test('a commit that compaction cannot move past stays readable, after a restart too', onLmdb, async (t) => {
  const data = newDataFolder(t);
  await fill(data);
  const first = await startTestService(t, { data });
  const changed = { id: idOf(items / 2 + 1), name: 'changed' };
  assert.equal((await first.send('PUT', '/v3/table/large/update', changed)).status, 200);
  // The change is in the journal, or was compacted a moment ago; the file is altered under the running service.
  alter(storeFile(data), idOf(items / 2));
  assert.equal((await first.send('PUT', '/v3/table/other/update', { id: 'a', name: 'later' })).status, 200);
  await first.stop();
  const second = await startTestService(t, { data });
  assert.match((await second.get('/v3/table/other/read?id=a')).text, /later/);
  const { status, text } = await second.get(`/v3/table/large/read?id=${changed.id}`);
  assert.ok(status === 500 || text.includes('changed'), text);
});

const damages: Readonly<Record<string, (file: string) => void>> = {
  'that ends too early': (file) => truncateSync(file, 3 * pageBytes),
  'with a page that is another one': (file) => {
    const bytes = readFileSync(file);
    // Every page has the content of the one before it.
    bytes.copy(bytes, 3 * pageBytes, 2 * pageBytes, bytes.length - pageBytes);
    writeFileSync(file, bytes);
  },
  'that is empty': (file) => {
    truncateSync(file, 0);
    rmSync(`${file}-probe`, { force: true });
  },
  'of zeroes': (file) => writeFileSync(file, Buffer.alloc(readFileSync(file).length)),
};

for (const [name, damage] of Object.entries(damages)) {
  test(`every command ends with 1 and a sentence on a store ${name}`, onLmdb, async (t) => {
    const data = newDataFolder(t);
    await fill(data);
    damage(storeFile(data));
    const target = join(newDataFolder(t), '..', 'backups');
    const commands = [
      ['serve'],
      ['verify'],
      ['doctor'],
      ['backup', target],
      ['keys', 'list'],
      ['tables', 'list'],
    ];
    for (const command of commands) {
      const before = readFileSync(storeFile(data));
      const { status, signal, stdout, stderr } = spawnSync(process.execPath, [program, ...command], {
        env: { COUNTERFOIL_DATA: data, PORT: '0' },
        encoding: 'utf8',
      });
      const output = stdout + stderr;
      assert.deepEqual([signal, status], [null, 1], `${command.join(' ')}: ${output}`);
      assert.match(
        output,
        /store\.mdb is (damaged|empty)|cannot be read|damaged at its beginning/,
        command.join(' '),
      );
      assert.match(output, /counterfoil restore\).*counterfoil recover\)/, command.join(' '));
      assert.doesNotMatch(output, /^\s+at .*\.ts:/m, command.join(' '));
      assert.ok(readFileSync(storeFile(data)).equals(before), `${command.join(' ')} changed the file`);
    }
  });
}

test('restore rejects a backup whose file was altered', onLmdb, async (t) => {
  const data = newDataFolder(t);
  await fill(data);
  const target = join(newDataFolder(t), '..', 'backups');
  const run = (folder: string, ...command: string[]) =>
    spawnSync(process.execPath, [program, ...command], {
      env: { COUNTERFOIL_DATA: folder },
      encoding: 'utf8',
    });
  const made = run(data, 'backup', target, '--json');
  const { file } = JSON.parse(made.stdout) as { file: string };
  alter(join(target, file), idOf(5));
  const { status, stderr } = run(newDataFolder(t), 'restore', target);
  assert.deepEqual([status, /has another checksum/.test(stderr)], [1, true], stderr);
  // What was damaged before the backup is found by it.
  copyFileSync(join(target, file), storeFile(data));
  const again = run(data, 'backup', target);
  assert.deepEqual([again.status, /has a wrong checksum/.test(again.stderr)], [1, true], again.stderr);
});

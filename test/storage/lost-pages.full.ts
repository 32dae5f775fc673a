import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { pageBytes } from '../../src/storage/lmdb/file/pages.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder } from '../support/service.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
const lastPageAt = 144;

test('a store whose file has pages that LMDB lost is whole, and its copies are', onLmdb, async (t) => {
  const data = newDataFolder(t);
  const engine = openLmdbEngine(data);
  for (const id of ['a', 'b'])
    await engine.commit([
      { kind: 'create', space: 'table:kept', id, value: 'x'.repeat(5_000), makeSpace: true },
    ]);
  await engine.close();
  losePages(storeFile(data), 3n);
  const run = (...args: string[]) => runCommand(args, { COUNTERFOIL_DATA: data });
  assert.equal((await run('verify')).status, 0);
  const made = await run('backup', `${data}-backups`, '--json');
  assert.equal(made.status, 0, made.errors);
  assert.equal(JSON.parse(made.output).counts.table_items, 2);
  const bytes = statSync(storeFile(data)).size;
  const compacted = await run('compact', '--json');
  assert.equal(compacted.status, 0, compacted.errors);
  assert.ok(statSync(storeFile(data)).size <= bytes - 3 * pageBytes);
  assert.equal((await run('verify')).status, 0);
});

/** Makes the file longer by pages that neither a tree nor the free list has. */
function losePages(file: string, pages: bigint): void {
  const bytes = readFileSync(file);
  const metas = [0, pageBytes].map((at) => at + lastPageAt);
  const last = metas
    .map((at) => bytes.readBigUInt64LE(at))
    .reduce((one, other) => (one > other ? one : other));
  for (const at of metas) bytes.writeBigUInt64LE(last + pages, at);
  const longer = Buffer.alloc(Number(last + pages + 1n) * pageBytes);
  bytes.copy(longer);
  writeFileSync(file, longer);
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { pageBytes } from '../../src/storage/lmdb/pages.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder } from '../support/service.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
const lastPageAt = 144;

test(
  'a store whose file has pages that LMDB lost is whole; what cannot copy it says what can',
  onLmdb,
  async (t) => {
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
    for (const args of [['backup', `${data}-backups`], ['compact']]) {
      const { status, errors } = await run(...args, '--json');
      assert.equal(status, 1);
      const { code, message } = JSON.parse(errors).error;
      assert.deepEqual([code, /counterfoil store copy/.test(message)], ['pages_lost', true]);
    }
    assert.deepEqual(readdirSync(`${data}-backups`), []);

    const copied = await run('store', 'copy', '--from', 'lmdb', '--to', `lmdb:${data}-copy`);
    assert.equal(copied.status, 0, copied.errors);
    const again = await runCommand(['backup', `${data}-backups`, '--json'], {
      COUNTERFOIL_DATA: `${data}-copy`,
    });
    assert.equal(again.status, 0, again.errors);
    assert.equal(JSON.parse(again.output).counts.table_items, 2);
  },
);

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

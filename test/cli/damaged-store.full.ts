import assert from 'node:assert/strict';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { before, type TestContext, test } from 'node:test';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

/** Enough for pages of every kind: branches, leaves and the free list. */
const items = 200;
const nameCharacters = 2_000;
const metaBytes = 2 * 4_096;

const damages: Readonly<Record<string, (file: string, bytes: number) => void>> = {
  'cut in half': (file, bytes) => truncateSync(file, Math.floor(bytes / 2)),
  'cut within its first page': (file) => truncateSync(file, 1_000),
  'overwritten with text': (file, bytes) => writeFileSync(file, Buffer.alloc(bytes, 'garbage ')),
  'overwritten behind its first pages': (file, bytes) =>
    overwrite(file, metaBytes, Buffer.alloc(bytes - metaBytes, 'garbage ')),
};

let whole: Buffer;
before(async (t) => {
  const data = newDataFolder(t as TestContext);
  const { stop } = await startTestService(t as TestContext, { data });
  await stop();
  const engine = openLmdbEngine(data);
  const commits = Array.from({ length: items }, (_, n) =>
    engine.commit([
      {
        kind: 'create',
        space: 'table:books',
        id: `id-${n}`,
        value: 'x'.repeat(nameCharacters),
        makeSpace: true,
      },
    ]),
  );
  await Promise.all(commits);
  await engine.close();
  whole = readFileSync(storeFile(data));
});

for (const [damage, make] of Object.entries(damages)) {
  test(`a store ${damage}: each command says so, names the way on, and exits with 1`, async (t) => {
    for (const command of [['verify'], ['serve'], ['keys', 'list']]) {
      const data = await damaged(t, make);
      const { status, output, errors } = await runCommand(command, { COUNTERFOIL_DATA: data, PORT: '0' });
      assert.deepEqual([status, output], [1, ''], `${command}: ${errors}`);
      // LMDB itself may write a line before.
      const lines = errors.split('\n').filter((line) => line.startsWith('counterfoil: '));
      assert.equal(lines.length, 2, errors);
      assert.match(lines[0] ?? '', /data \(COUNTERFOIL_DATA\): .*(is damaged|cannot be read)/);
      assert.match(lines[1] ?? '', /counterfoil restore.*counterfoil recover/);
      assert.doesNotMatch(errors, /\n\s+at /, 'no stack');
    }
    const data = await damaged(t, make);
    const { status, errors } = await runCommand(['verify', '--json'], { COUNTERFOIL_DATA: data });
    const { error } = JSON.parse(errors.trimEnd().split('\n').at(-1) ?? '');
    assert.deepEqual([status, error.code], [1, 'store_damaged']);
  });
}

test('verify exits with 1 for a store with zeros in its second half', async (t) => {
  const data = await damaged(t, (file, bytes) =>
    overwrite(file, Math.floor(bytes / 2), Buffer.alloc(Math.ceil(bytes / 2))),
  );
  const { status, output, errors } = await runCommand(['verify'], { COUNTERFOIL_DATA: data });
  assert.equal(status, 1);
  assert.match(output + errors, /store(\.mdb)? is damaged|cannot be read/);
});

/** A data folder with a damaged copy of the whole store. */
async function damaged(t: TestContext, make: (file: string, bytes: number) => void): Promise<string> {
  const data = newDataFolder(t);
  await openLmdbEngine(data).close();
  const file = storeFile(data);
  writeFileSync(file, whole);
  make(file, whole.length);
  return data;
}

function overwrite(file: string, start: number, bytes: Buffer): void {
  const content = readFileSync(file);
  bytes.copy(content, start);
  writeFileSync(file, content);
}

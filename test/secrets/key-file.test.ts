import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { MasterKey } from '../../src/secrets/key-file.ts';
import {
  KeyFile,
  makeKeyFile,
  newMasterKey,
  readKeyFile,
  replaceKeyFile,
} from '../../src/secrets/key-file.ts';
import { keyFileLookMs } from '../../src/secrets/limits.ts';
import { Sealer } from '../../src/secrets/sealer.ts';

const place = { record: 'test', name: 'one', field: 'secret' };

function newFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-key-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'data.key');
  makeKeyFile(file);
  return file;
}

test('a process that only opens seals reads the key file again when it finds an unknown key', (t) => {
  const file = newFile(t);
  const opener = new Sealer(new KeyFile(file));
  const fresh = newMasterKey();
  replaceKeyFile(file, [fresh, ...readKeyFile(file)]);
  const seal = new Sealer(new KeyFile(file)).seal('secret', place);
  assert.ok(seal.startsWith(`v2.${fresh.id}.`));
  assert.equal(opener.open(seal, place), 'secret');
});

test('concurrent creations of the file make one key, readable only by its owner', (t) => {
  const file = newFile(t);
  const keys = readKeyFile(file);
  makeKeyFile(file);
  assert.deepEqual(readKeyFile(file), keys);
  replaceKeyFile(file, [...keys, newMasterKey()]);
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a running service keeps its keys when the file is removed, damaged or made readable by others', (t) => {
  const file = newFile(t);
  const keys = readKeyFile(file);
  let now = 0;
  const sealer = new Sealer(new KeyFile(file, () => now));
  const seal = sealer.seal('secret', place);
  for (const harm of [
    () => writeFileSync(file, 'nonsense\n'),
    () => writeFileSync(file, ''),
    () => chmodSync(file, 0o644),
    () => rmSync(file),
  ]) {
    harm();
    now += keyFileLookMs;
    assert.equal(sealer.open(sealer.seal('secret', place), place), 'secret');
    assert.equal(sealer.open(seal, place), 'secret');
  }
  const fresh = newMasterKey();
  replaceKeyFile(file, [fresh, ...keys]);
  now += keyFileLookMs;
  assert.equal(sealer.keyId, fresh.id, 'a repaired file is used again');
});

test('a process seals under a new first key once it has looked at the file, and looks at most every 100 ms', (t) => {
  const file = newFile(t);
  const [old] = readKeyFile(file);
  let now = 0;
  const keys = new KeyFile(file, () => now);
  const fresh = newMasterKey();
  for (const [first, second] of [[fresh, old] as const, [old, fresh] as const]) {
    const before = keys.writing().id;
    replaceKeyFile(file, [first as MasterKey, second as MasterKey]);
    now += keyFileLookMs - 1;
    assert.equal(keys.writing().id, before);
    now += 1;
    assert.equal(keys.writing().id, first?.id);
  }
});

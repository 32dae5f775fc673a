import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ServiceError } from '../../src/errors.ts';
import { fixedKeys, type MasterKey, masterKey } from '../../src/secrets/key-file.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const place = { record: 'integration', name: 'google/web', field: 'client_secret' };
const doesNotOpen = { code: 'internal' };

function sealerOf(...keys: MasterKey[]): Sealer {
  return new Sealer(fixedKeys(keys.length === 0 ? [newKey()] : keys));
}

function newKey(): MasterKey {
  return masterKey(randomBytes(32));
}

test('opens every secret that it sealed', () => {
  const sealer = sealerOf();
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
      assert.equal(sealer.open(sealer.seal(secret, place), place), secret);
    }),
  );
});

test('seals the same secret differently each time', () => {
  const sealer = sealerOf();
  assert.notEqual(sealer.seal('secret', place), sealer.seal('secret', place));
});

test('neither opens nor rewraps a seal in another place', () => {
  const [old, next] = [newKey(), newKey()];
  const sealer = sealerOf(old);
  const seal = sealer.seal('secret', place);
  for (const other of [
    { ...place, record: 'payment' },
    { ...place, name: 'google/we' },
    { ...place, field: 'client_id' },
    { ...place, record: 'integratio', name: 'ngoogle/web' },
  ]) {
    assert.throws(() => sealer.open(seal, other), doesNotOpen);
    assert.throws(() => sealerOf(next, old).rewrap(seal, other), doesNotOpen);
  }
});

test('does not open a seal with any one bit changed', () => {
  const sealer = sealerOf();
  const seal = sealer.seal('secret', place);
  const parts = seal.split('.');
  for (const [index, part] of parts.entries()) {
    const encoding = index < 2 ? 'latin1' : 'base64url';
    const bytes = Buffer.from(part, encoding);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
      const changed = parts.with(index, flipped.toString(encoding)).join('.');
      assert.throws(() => sealer.open(changed, place), doesNotOpen, `part ${index}, bit ${bit}`);
    }
  }
});

test('does not open a seal with any one character changed, removed or added', () => {
  const sealer = sealerOf();
  const seal = sealer.seal('secret', place);
  for (let at = 0; at < seal.length; at++) {
    const [before, after] = [seal.slice(0, at), seal.slice(at + 1)];
    // Every second character: the last one of a base64url part has bits that the decoder ignores.
    for (const character of ['A', 'B', 'g', 'w', '_', '.', '=', '']) {
      if (character === seal[at]) continue;
      assert.throws(() => sealer.open(before + character + after, place), doesNotOpen, `${at} ${character}`);
    }
  }
  for (const longer of [`${seal}A`, `${seal}.`, ` ${seal}`, `${seal}\n`, '', '.', '...', 'v3..', 'v2...']) {
    assert.throws(() => sealer.open(longer, place), doesNotOpen);
  }
});

test('does not open a seal that combines parts of two seals', () => {
  const sealer = sealerOf();
  const one = sealer.seal('one', place).split('.');
  const other = sealer.seal('other', place).split('.');
  assert.throws(() => sealer.open([...one.slice(0, 3), other[3]].join('.'), place), doesNotOpen);
  assert.throws(
    () => sealer.open([...one.slice(0, 2), ...other.slice(2, 3), one[3]].join('.'), place),
    doesNotOpen,
  );
});

test('does not open a seal of another master key, and logs the id of that key', () => {
  const maker = sealerOf();
  assert.throws(
    () => sealerOf().open(maker.seal('secret', place), place),
    (error: ServiceError) =>
      error.details.detail?.includes(maker.keyId) && !error.message.includes(maker.keyId),
  );
});

test('rewraps only the data key: the sealed secret stays the same, and the old key is no longer needed', () => {
  const [old, next] = [newKey(), newKey()];
  const seal = sealerOf(old).seal('secret', place);
  const rewrapped = sealerOf(next, old).rewrap(seal, place);
  const [before, after] = [seal.split('.'), rewrapped.split('.')];
  assert.deepEqual([after[1], after[3]], [next.id, before[3]]);
  assert.notEqual(after[2], before[2]);
  assert.equal(sealerOf(next).open(rewrapped, place), 'secret');
  assert.throws(() => sealerOf(old).open(rewrapped, place), doesNotOpen);
  assert.equal(sealerOf(next).rewrap(rewrapped, place), rewrapped, 'the current key sealed it already');
});

test('creates the master key on the first start, next to the data folder, readable only by its owner', async (t) => {
  const service = await startTestService(t);
  const file = `${service.data}.key`;
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(Buffer.from(readFileSync(file, 'utf8'), 'base64').length, 32);
});

test('does not start without the key that sealed the store, and leaves the store unchanged', async (t) => {
  const data = newDataFolder(t);
  const first = await startTestService(t, { data });
  await first.stop();
  const key = readFileSync(`${data}.key`);
  rmSync(`${data}.key`);
  await assert.rejects(startTestService(t, { data }), /restore it/);
  assert.ok(!existsSync(`${data}.key`));
  const other = { COUNTERFOIL_MASTER_KEY: randomBytes(32).toString('base64') };
  await assert.rejects(startTestService(t, { data, env: other }), /sealed by master key/);
  writeFileSync(`${data}.key`, key);
  chmodSync(`${data}.key`, 0o644);
  await assert.rejects(startTestService(t, { data }), /chmod 600/);
  chmodSync(`${data}.key`, 0o600);
  const again = await startTestService(t, { data });
  assert.equal((await again.get('/readyz')).status, 200);
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { Sealer } from '../../src/secrets/sealer.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const place = { record: 'integration', name: 'google/web', field: 'client_secret' };

test('opens what it sealed, whatever the secret', () => {
  const sealer = new Sealer(randomBytes(32));
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
      assert.equal(sealer.open(sealer.seal(secret, place), place), secret);
    }),
  );
});

test('seals the same secret differently each time', () => {
  const sealer = new Sealer(randomBytes(32));
  assert.notEqual(sealer.seal('secret', place), sealer.seal('secret', place));
});

test('does not open a seal in another place', () => {
  const sealer = new Sealer(randomBytes(32));
  const seal = sealer.seal('secret', place);
  for (const other of [
    { ...place, record: 'payment' },
    { ...place, name: 'google/we' },
    { ...place, field: 'client_id' },
  ]) {
    assert.throws(() => sealer.open(seal, other));
  }
});

test('does not open a seal of which any one character was changed', () => {
  const sealer = new Sealer(randomBytes(32));
  const seal = sealer.seal('secret', place);
  for (let at = 0; at < seal.length; at++) {
    const changed = `${seal.slice(0, at)}${seal[at] === 'A' ? 'B' : 'A'}${seal.slice(at + 1)}`;
    // The last character of a base64url part may carry bits that are not used.
    if (decoded(changed) === decoded(seal)) continue;
    assert.throws(() => sealer.open(changed, place), `position ${at}`);
  }
});

function decoded(seal: string): string {
  return seal
    .split('.')
    .map((part, index) => (index < 2 ? part : Buffer.from(part, 'base64url').toString('hex')))
    .join();
}

test('does not open a seal of another master key, and says which key it was', () => {
  const maker = new Sealer(randomBytes(32));
  const other = new Sealer(randomBytes(32));
  assert.throws(() => other.open(maker.seal('secret', place), place), new RegExp(maker.keyId));
});

test('makes the master key on the first start, beside the data folder, for its owner alone', async (t) => {
  const service = await startTestService(t);
  const file = `${service.data}.key`;
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(Buffer.from(readFileSync(file, 'utf8'), 'base64').length, 32);
});

test('refuses to start without the key that sealed the store, and leaves the store alone', async (t) => {
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

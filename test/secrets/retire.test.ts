import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sealedTokens } from '../../src/payments/payment-store.ts';
import { keyFilePath, newMasterKey, replaceKeyFile } from '../../src/secrets/key-file.ts';
import { masterKeyOverlapMs } from '../../src/secrets/limits.ts';
import { noteSealing, openMasterKeys } from '../../src/secrets/master-keys.ts';
import { type RotationParts, retire, rotate } from '../../src/secrets/rotation.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

test('a key that a killed rotation left sealing is kept for a minute after a later one replaced it', async (t) => {
  const data = newDataFolder(t);
  const engine = await openStoreOf(data);
  t.after(() => engine.close());
  const source = { settings: [], command: undefined, dataFolder: data };
  const keys = await openMasterKeys(engine, source, Date.now());
  const [old] = keys.all();
  const parts: RotationParts = {
    engine,
    source,
    keys,
    records: [sealedTokens],
    now: Date.now,
    report: () => undefined,
  };
  // An hour ago a rotation was killed before it put the new key first.
  const next = newMasterKey();
  replaceKeyFile(keyFilePath(data), [...keys.all(), next]);
  await noteSealing(engine, next.id, Date.now() - 3_600_000);

  assert.equal((await rotate(parts)).keyId, next.id);
  assert.equal(keys.writing().id, next.id);
  await assert.rejects(retire(parts), /run this again in \d+ seconds/);
  const later = { ...parts, now: () => Date.now() + masterKeyOverlapMs };
  assert.deepEqual(await retire(later), [old?.id]);
});

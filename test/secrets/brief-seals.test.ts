import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { tokenPlace } from '../../src/payments/payment.ts';
import { sealedTokens } from '../../src/payments/payment-store.ts';
import { fixedKeys, type MasterKey, type MasterKeys, masterKey } from '../../src/secrets/key-file.ts';
import { sharedDataKeyMsMax, sharedDataKeySealsMax } from '../../src/secrets/limits.ts';
import { openAll, rewrapAll } from '../../src/secrets/sealed-records.ts';
import { Sealer } from '../../src/secrets/sealer.ts';
import { newDataFolder, openStoreOf } from '../support/service.ts';

const place = { record: 'payment', name: 'pay_1', field: 'token', isEphemeral: true } as const;
const doesNotOpen = { code: 'internal' };

function newKey(): MasterKey {
  return masterKey(randomBytes(32));
}

function sealerOf(...keys: MasterKey[]): Sealer {
  return new Sealer(fixedKeys(keys));
}

const dataKeyOf = (seal: string) => seal.split('.')[2];

test('opens every secret that it sealed briefly, each sealed differently', () => {
  const key = newKey();
  const sealer = sealerOf(key);
  const seals = ['tok_1', 'tok_1', ''].map((secret) => sealer.sealWithSharedKey(secret, place));
  assert.equal(new Set(seals).size, 3);
  assert.deepEqual(
    seals.map((seal) => sealerOf(key).open(seal, place)),
    ['tok_1', 'tok_1', ''],
  );
});

test('a brief seal that is moved to another place does not open, rewrapped or not', () => {
  const [old, next] = [newKey(), newKey()];
  const sealer = sealerOf(old);
  const seal = sealer.sealWithSharedKey('tok_1', place);
  // The other place has a seal under the same data key.
  sealer.sealWithSharedKey('tok_2', { ...place, name: 'pay_2' });
  for (const other of [
    { ...place, record: 'integration' },
    { ...place, name: 'pay_2' },
    { ...place, field: 'receipt_email' },
    { ...place, record: 'paymen', name: 'tpay_1' },
  ]) {
    assert.throws(() => sealer.open(seal, other), doesNotOpen);
    const rewrapped = sealerOf(next, old).rewrap(seal, other);
    assert.throws(() => sealerOf(next, old).open(rewrapped, other), doesNotOpen);
  }
});

test('a brief seal opens and rewraps only where secrets are brief', () => {
  const [old, next] = [newKey(), newKey()];
  const seal = sealerOf(old).sealWithSharedKey('forged', place);
  const { isEphemeral: _brief, ...lasting } = place;
  assert.throws(() => sealerOf(old).open(seal, lasting), doesNotOpen);
  assert.throws(() => sealerOf(next, old).rewrap(seal, lasting), doesNotOpen);
  const own = sealerOf(old).seal('made before seals were brief', lasting);
  assert.equal(sealerOf(old).open(own, place), 'made before seals were brief');
});

test('a brief seal with any one bit changed does not open', () => {
  const sealer = sealerOf(newKey());
  const parts = sealer.sealWithSharedKey('tok_1', place).split('.');
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

test('parts of a brief seal and of another one do not combine', () => {
  const sealer = sealerOf(newKey());
  const brief = sealer.sealWithSharedKey('brief', place).split('.');
  const own = sealer.seal('own', place).split('.');
  const elsewhere = sealer.sealWithSharedKey('elsewhere', { ...place, name: 'pay_2' }).split('.');
  assert.equal(brief[2], elsewhere[2], 'they share a data key');
  for (const mixed of [
    brief.with(0, 'v2'),
    own.with(0, 'v3'),
    brief.with(2, own[2] as string),
    brief.with(3, own[3] as string),
    own.with(3, brief[3] as string),
    brief.with(3, elsewhere[3] as string),
  ]) {
    assert.throws(() => sealer.open(mixed.join('.'), place), doesNotOpen);
  }
});

test('a data key is shared for a minute, and by no other process', () => {
  const key = newKey();
  let now = 5;
  const sealer = new Sealer(fixedKeys([key]), () => now);
  const first = dataKeyOf(sealer.sealWithSharedKey('tok_1', place));
  now += sharedDataKeyMsMax - 1;
  assert.equal(dataKeyOf(sealer.sealWithSharedKey('tok_2', place)), first);
  now += 1;
  const second = dataKeyOf(sealer.sealWithSharedKey('tok_3', place));
  assert.notEqual(second, first);
  assert.equal(dataKeyOf(sealer.sealWithSharedKey('tok_4', place)), second);
  const other = new Sealer(fixedKeys([key]), () => now).sealWithSharedKey('tok_5', place);
  assert.notEqual(dataKeyOf(other), second);
  assert.notEqual(dataKeyOf(sealer.seal('1', place)), dataKeyOf(sealer.seal('1', place)), 'not if it lasts');
});

test('a data key is replaced after its number of seals', () => {
  const sealer = new Sealer(fixedKeys([newKey()]), () => 0);
  const seals = Array.from({ length: sharedDataKeySealsMax + 1 }, () =>
    sealer.sealWithSharedKey('tok', place),
  );
  const [first, ...others] = seals.map(dataKeyOf);
  assert.equal(others.findIndex((dataKey) => dataKey !== first) + 1, sharedDataKeySealsMax);
});

test('a data key is used no longer when another master key seals', () => {
  const [old, next] = [newKey(), newKey()];
  let keys: readonly MasterKey[] = [old, next];
  const changing: MasterKeys = {
    writing: () => keys[0] as MasterKey,
    find: (id) => keys.find((key) => key.id === id),
    all: () => keys,
  };
  const sealer = new Sealer(changing, () => 0);
  const before = sealer.sealWithSharedKey('tok_1', place);
  keys = [next, old];
  const after = sealer.sealWithSharedKey('tok_2', place);
  assert.equal(sealerOf(next).open(after, place), 'tok_2');
  assert.throws(() => sealerOf(next).open(before, place), doesNotOpen);
  keys = [old, next];
  assert.notEqual(dataKeyOf(sealer.sealWithSharedKey('tok_3', place)), dataKeyOf(before));
});

test('a rotation rewraps the brief seals of one process, and all open under the new key alone', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  t.after(() => engine.close());
  const [old, next] = [newKey(), newKey()];
  const serving = sealerOf(old);
  const ids = Array.from({ length: 150 }, (_, index) => `pay_${index}`);
  const { space } = sealedTokens;
  await Promise.all(
    ids.map((id) => {
      const value = JSON.stringify({
        id,
        sealedToken: serving.sealWithSharedKey(`tok_${id}`, tokenPlace(id)),
      });
      return engine.commit([{ kind: 'create', space, id, value, makeSpace: true }]);
    }),
  );
  const pass = await rewrapAll(engine, sealerOf(next, old), [sealedTokens], () => undefined);
  assert.deepEqual([pass.rewrapped, pass.problems], [150, []]);
  const again = await rewrapAll(engine, sealerOf(next, old), [sealedTokens], () => undefined);
  assert.equal(again.rewrapped, 0);
  const found = await openAll(engine, sealerOf(next), [sealedTokens]);
  assert.deepEqual([found.problems, [...found.underKeys]], [[], [[next.id, 150]]]);
  for (const id of ids) {
    const { sealedToken } = JSON.parse((await engine.get(space, id)) as string);
    assert.equal(sealerOf(next).open(sealedToken, tokenPlace(id)), `tok_${id}`);
  }
});

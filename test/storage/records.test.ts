import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Engine, Write } from '../../src/storage/engine.ts';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { RecordDamaged, Records, WriteRejected } from '../../src/storage/records.ts';
import { newDataFolder } from '../support/service.ts';

interface Account {
  readonly balance: number;
}

const space = 'service:users';
const never = new AbortController().signal;

function open(t: TestContext): { readonly engine: Engine; readonly accounts: Records<Account> } {
  const engine = openLmdbEngine(newDataFolder(t));
  t.after(() => engine.close());
  return { engine, accounts: new Records<Account>(engine, 'users') };
}

test('a record is created once, read, changed, and deleted', async (t) => {
  const { engine, accounts } = open(t);
  assert.equal(await accounts.get('ann'), undefined);
  assert.equal(await engine.commit([accounts.creation('ann', { balance: 1 })]), undefined);
  assert.deepEqual(await engine.commit([accounts.creation('ann', { balance: 2 })]), {
    write: 0,
    reason: 'exists',
  });
  assert.deepEqual(await accounts.get('ann'), { balance: 1 });
  const add = (before: Account | undefined) => ({ value: { balance: (before?.balance ?? 0) + 10 } });
  assert.deepEqual(await accounts.change('ann', add), { value: { balance: 11 }, isChanged: true });
  assert.deepEqual(await accounts.change('bob', add), { value: { balance: 10 }, isChanged: true });
  assert.deepEqual(await accounts.change('bob', () => undefined), {
    value: { balance: 10 },
    isChanged: false,
  });
  assert.deepEqual(await accounts.change('bob', () => ({ value: undefined })), {
    value: undefined,
    isChanged: true,
  });
  assert.equal(await accounts.get('bob'), undefined);
});

test('a record that is wrongly believed to be none is read, and changed', async (t) => {
  const { accounts } = open(t);
  const add = (before: Account | undefined) => ({ value: { balance: (before?.balance ?? 0) + 10 } });
  await accounts.change('ann', add, 'none');
  await accounts.change('ann', add, 'none');
  assert.deepEqual(await accounts.get('ann'), { balance: 20 });
});

test('changes of many callers at once all count', async (t) => {
  const { accounts } = open(t);
  const add = (before: Account | undefined) => ({ value: { balance: (before?.balance ?? 0) + 1 } });
  await Promise.all(Array.from({ length: 50 }, () => accounts.change('ann', add)));
  assert.deepEqual(await accounts.get('ann'), { balance: 50 });
});

test('a rejected write beside a record is an error, and nothing is written', async (t) => {
  const { accounts } = open(t);
  const also: Write[] = [{ kind: 'delete', space: 'service:sessions', id: 'none' }];
  await assert.rejects(
    accounts.change('ann', () => ({ value: { balance: 1 }, also })),
    (error) => error instanceof WriteRejected && error.write === also[0] && error.reason === 'missing',
  );
  assert.equal(await accounts.get('ann'), undefined);
});

test('a write after a read is rejected once the record has changed', async (t) => {
  const { engine, accounts } = open(t);
  const none = await accounts.find('ann');
  await engine.commit([accounts.saving('ann', none, { balance: 1 })]);
  const before = await accounts.find('ann');
  assert.ok(before);
  await engine.commit([accounts.saving('ann', before, { balance: 2 })]);
  for (const write of [
    accounts.saving('ann', before, { balance: 3 }),
    accounts.saving('ann', none, { balance: 3 }),
    accounts.deletion(before),
    accounts.check('ann', before),
    accounts.check('ann', none),
  ])
    assert.notEqual(await engine.commit([write]), undefined, JSON.stringify(write));
  assert.deepEqual(await accounts.get('ann'), { balance: 2 });
});

test('lists all records in order, and sweeps those that are over', async (t) => {
  const { engine, accounts } = open(t);
  const ids = Array.from({ length: 2_500 }, (_, n) => `user-${String(n).padStart(4, '0')}`);
  for (let first = 0; first < ids.length; first += 100)
    await engine.commit(
      ids.slice(first, first + 100).map((id, n) => accounts.creation(id, { balance: first + n })),
    );
  const listed = (await Array.fromAsync(accounts.list())).map(({ id }) => id);
  assert.deepEqual(listed, ids);
  assert.deepEqual(
    (await Array.fromAsync(accounts.pages())).flat().map(({ id }) => id),
    ids,
  );
  await accounts.sweep(({ balance }) => balance % 2 === 0, never);
  const left = (await Array.fromAsync(accounts.list())).map(({ value }) => value.balance);
  assert.deepEqual(
    left,
    ids.map((_, n) => n).filter((n) => n % 2 === 1),
  );
});

for (const text of ['', '{"balance":', '1', 'null', '"text"'])
  test(`a record that is not an object or list has an error of its own: ${text}`, async (t) => {
    const { engine, accounts } = open(t);
    await engine.commit([{ kind: 'create', space, id: 'ann', value: text, makeSpace: true }]);
    const isNamed = (error: unknown) =>
      error instanceof RecordDamaged && error.details.detail === 'the record ann in service:users is damaged';
    await assert.rejects(accounts.get('ann'), isNamed);
    await assert.rejects(Array.fromAsync(accounts.list()), isNamed);
  });

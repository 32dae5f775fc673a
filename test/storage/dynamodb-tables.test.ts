import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  type ScalarAttributeType,
} from '@aws-sdk/client-dynamodb';
import type { Engine, Space, Write } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { apiError } from '../support/dynamodb/fault-proxy.ts';
import { type FaultyStore, faultyStore } from '../support/dynamodb/faulty-store.ts';
import { dynamoEndpoint, dynamoRegion } from '../support/dynamodb/stores.ts';

/** Tables that were created by other means than the service. */
const space: Space = 'table:theirs';
const create: Write = { kind: 'create', space, id: 'new', value: 'n', makeSpace: true };
const replace: Write = { kind: 'replace', space, id: 'a', value: 'new' };
const remove: Write = { kind: 'delete', space, id: 'a' };

test('reads only id and name of an item, and preserves its other attributes in an update', async (t) => {
  const { direct, tablePrefix } = await faultyStore(t);
  const client = await tableMade(tablePrefix, [['id', 'S']]);
  const TableName = `${tablePrefix}theirs`;
  const own = { colour: { S: 'red' }, pages: { N: '7' } };
  await client.send(new PutItemCommand({ TableName, Item: { id: { S: 'a' }, name: { S: 'old' }, ...own } }));
  assert.deepEqual(await itemsIn(direct), [{ id: 'a', name: 'old' }]);
  assert.equal(await direct.commit([{ ...replace, ifValue: 'old' } as Write]), undefined);
  assert.equal(await direct.get(space, 'a'), 'new');
  const { Item } = await client.send(new GetItemCommand({ TableName, Key: { id: { S: 'a' } } }));
  assert.deepEqual(Item, { id: { S: 'a' }, name: { S: 'new' }, ...own });
  client.destroy();
});

test('rejects reads of an item without a name, and an update adds the name', async (t) => {
  const { direct, tablePrefix } = await faultyStore(t);
  const client = await tableMade(tablePrefix, [['id', 'S']]);
  for (const more of [{}, { name: { N: '7' } }])
    await client.send(
      new PutItemCommand({ TableName: `${tablePrefix}theirs`, Item: { id: { S: 'a' }, ...more } }),
    );
  const rejected = { name: 'ServiceError', code: 'unavailable', message: /no string "name"/ };
  await assert.rejects(direct.get(space, 'a'), rejected);
  await assert.rejects(itemsIn(direct), rejected);
  const guarded = await direct.commit([{ ...replace, ifValue: 'old' } as Write]);
  assert.deepEqual(guarded, { write: 0, reason: 'differs' });
  assert.equal(await direct.commit([replace]), undefined);
  assert.deepEqual(await itemsIn(direct), [{ id: 'a', name: 'new' }]);
  client.destroy();
});

const others: Readonly<Record<string, readonly [string, ScalarAttributeType][]>> = {
  'a sort key in addition to its id': [
    ['id', 'S'],
    ['at', 'S'],
  ],
  'a number as its id': [['id', 'N']],
  'another partition key': [['isbn', 'S']],
};
const verbs: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = {
  get: (engine) => engine.get(space, 'a'),
  describe: (engine) => engine.describe(space),
  scan: (engine) => itemsIn(engine),
  'a page': (engine) => itemsIn(engine, { limit: 2, after: 'a' }),
  create: (engine) => engine.commit([create]),
  update: (engine) => engine.commit([replace]),
  delete: (engine) => engine.commit([remove]),
  'a batch': (engine) => engine.commit([create, remove]),
};
for (const [what, key] of Object.entries(others)) {
  test(`rejects every operation on a table with ${what}`, async (t) => {
    const { direct, tablePrefix } = await faultyStore(t);
    const client = await tableMade(tablePrefix, key);
    const Item = Object.fromEntries(key.map(([name, type]) => [name, { [type]: '7' }]));
    const TableName = `${tablePrefix}theirs`;
    await client.send(new PutItemCommand({ TableName, Item: { ...Item, name: { S: 'n' } } as never }));
    for (const [verb, operation] of Object.entries(verbs))
      await assert.rejects(
        operation(direct),
        { name: 'ServiceError', code: 'unavailable', message: /is not a single string "id"/ },
        verb,
      );
    client.destroy();
  });
}

test('waits in a create while another process creates the table', async (t) => {
  const { proxy, patient } = await faultyStore(t);
  makeSlowly(proxy);
  assert.equal(await patient.commit([create]), undefined);
  assert.equal(await patient.get(space, 'new'), 'n');
});

test('rejects a write to a table that is repeatedly deleted', async (t) => {
  const { proxy, patient } = await faultyStore(t, ['theirs']);
  proxy.script = ({ operation }) =>
    operation === 'PutItem' ? apiError('ResourceNotFoundException') : undefined;
  await assert.rejects(patient.commit([create]), { code: 'unavailable' });
});

/** Simulates DynamoDB: a table that is being created is not found yet, and cannot be created twice. */
function makeSlowly(proxy: FaultyStore['proxy']): void {
  proxy.script = ({ operation }, count) => {
    if (operation === 'CreateTable' && count === 1) return { kind: 'reply', after: true, reply: inUse.reply };
    return operation === 'DescribeTable' && count <= 2 ? apiError('ResourceNotFoundException') : undefined;
  };
}

const inUse = apiError('ResourceInUseException') as { reply: { status: number; body: unknown } };

async function tableMade(
  tablePrefix: string,
  key: readonly (readonly [string, ScalarAttributeType])[],
): Promise<DynamoDBClient> {
  const client = new DynamoDBClient({ endpoint: await dynamoEndpoint(), region: dynamoRegion });
  const made = new CreateTableCommand({
    TableName: `${tablePrefix}theirs`,
    AttributeDefinitions: key.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
    KeySchema: key.map(([AttributeName], index) => ({
      AttributeName,
      KeyType: index === 0 ? 'HASH' : 'RANGE',
    })),
    BillingMode: 'PAY_PER_REQUEST',
  });
  await client.send(made);
  return client;
}

async function itemsIn(engine: Engine, options = {}) {
  return Array.fromAsync(itemsOf((await engine.scan(space, options))?.chunks ?? []));
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SettingsError, TransientError } from '../../src/errors.ts';
import { type DynamoSettings, initDynamo, openDynamoEngine } from '../../src/storage/dynamodb/open.ts';
import { accessDenied, apiError, FaultProxy, unknownClient } from '../support/dynamodb/fault-proxy.ts';
import { dynamoEndpoint, dynamoRegion, newPrefix } from '../support/dynamodb/stores.ts';

/** When the engine cannot be used, the operator gets one line with the cause. */
const closedPort = 'http://127.0.0.1:1';

for (const [fault, name] of [
  [unknownClient, 'UnrecognizedClientException'],
  [accessDenied, 'AccessDeniedException'],
] as const) {
  test(`reports rejected credentials: ${name}`, async (t) => {
    const { settings, proxy } = await behindProxy(t);
    await initDynamo(settings);
    proxy.script = () => fault;
    for (const begin of [openDynamoEngine, initDynamo])
      assert.match(await problem(begin(settings)), new RegExp(`credentials are rejected \\(${name}\\)`));
  });
}

test('reports missing credentials', async (t) => {
  const { settings } = await behindProxy(t);
  const nowhere = { AWS_EC2_METADATA_DISABLED: 'true', AWS_SHARED_CREDENTIALS_FILE: '/nonexistent' };
  withEnvironment(t, { ...nowhere, AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined });
  // The role of a machine has none either while its network is late.
  assert.match(await transientProblem(openDynamoEngine(settings)), /credentials are rejected/);
});

test('reports a store that was never created, with the command that creates it', async (t) => {
  const { settings } = await behindProxy(t);
  assert.match(
    await problem(openDynamoEngine(settings)),
    new RegExp(`the table ${settings.tablePrefix}counterfoil does not exist; run: .* store init$`),
  );
});

test('reports a table of that name with another key schema', async (t) => {
  const { settings } = await behindProxy(t);
  const client = new DynamoDBClient({ endpoint: await dynamoEndpoint(), region: dynamoRegion });
  const made = new CreateTableCommand({
    TableName: `${settings.tablePrefix}counterfoil`,
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    BillingMode: 'PAY_PER_REQUEST',
  });
  await client.send(made);
  client.destroy();
  for (const begin of [openDynamoEngine, initDynamo])
    assert.match(await problem(begin(settings)), /is not the strings "space" and "id"/);
});

test('reports a missing region', async (t) => {
  const { settings } = await behindProxy(t);
  withEnvironment(t, { AWS_REGION: undefined, AWS_CONFIG_FILE: '/nonexistent' });
  assert.match(
    await problem(openDynamoEngine({ ...settings, region: undefined })),
    /^dynamodb\.region \(COUNTERFOIL_DYNAMODB_REGION\): is not set, and neither is AWS_REGION$/,
  );
});

test('reports an endpoint that refuses connections', async (t) => {
  const { settings } = await behindProxy(t);
  const away = { ...settings, endpoint: closedPort, callMsMax: 50 };
  assert.match(await transientProblem(openDynamoEngine(away)), /cannot be reached \(ECONNREFUSED\)/);
});

test('reports an engine that never responds', async (t) => {
  const { settings, proxy } = await behindProxy(t);
  proxy.script = () => ({ kind: 'hang' });
  const silent = { ...settings, attemptMsMax: 50, callMsMax: 100 };
  assert.match(
    await transientProblem(openDynamoEngine(silent)),
    /cannot be reached \((AbortError|TimeoutError)\)/,
  );
});

test('reports an engine without transactions', async (t) => {
  const { settings, proxy } = await behindProxy(t);
  proxy.script = ({ operation }) =>
    operation === 'TransactWriteItems' ? apiError('UnknownOperationException') : undefined;
  assert.match(await problem(initDynamo(settings)), /does not support transactions/);
  assert.match(await problem(openDynamoEngine(settings)), /does not support transactions/);
});

async function behindProxy(t: TestContext) {
  const proxy = await FaultProxy.open(await dynamoEndpoint());
  t.after(() => proxy.close());
  const settings: DynamoSettings = {
    endpoint: proxy.endpoint,
    region: dynamoRegion,
    tablePrefix: newPrefix(),
    declared: [],
  };
  return { proxy, settings };
}

/** Of a failure that may pass: another start is worth while. */
async function transientProblem(beginning: Promise<unknown>): Promise<string> {
  const error = await beginning.then(
    () => assert.fail('it opened'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof TransientError, String(error));
  return error.message;
}

async function problem(beginning: Promise<unknown>): Promise<string> {
  const error = await beginning.then(
    () => assert.fail('it opened'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof SettingsError, String(error));
  assert.equal(error.problems.length, 1);
  return error.problems[0] as string;
}

function withEnvironment(t: TestContext, changed: Readonly<Record<string, string | undefined>>): void {
  const before = Object.fromEntries(Object.keys(changed).map((name) => [name, process.env[name]]));
  const set = (values: typeof changed) => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  set(changed);
  t.after(() => set(before));
}

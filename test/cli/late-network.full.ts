import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { initDynamo } from '../../src/storage/dynamodb/open.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { dropRequest, FaultProxy } from '../support/dynamodb/fault-proxy.ts';
import { dynamoEndpoint, dynamoEnvironment, dynamoRegion, newPrefix } from '../support/dynamodb/stores.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';

const credentials = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const env = {
  ...credentials,
  COUNTERFOIL_LOG_LEVEL: 'warn',
  COUNTERFOIL_MASTER_KEY: Buffer.alloc(32).toString('base64'),
};
const isImpatient = `--import=${join(import.meta.dirname, '../support/impatient-start.ts')}`;
const delayed = /"level":"warn".*"event":"start_delayed"/;

test('a store that is reached late delays the start, which the log says', async (t) => {
  const proxy = await openProxy(t);
  const tablePrefix = newPrefix();
  await initDynamo({ endpoint: proxy.endpoint, region: dynamoRegion, tablePrefix, declared: [] });
  proxy.script = () => dropRequest;
  const service = ServeProcess.spawn(t, {
    data: newData(t),
    env: { ...env, ...dynamoEnvironment(proxy.endpoint, tablePrefix) },
  });
  await until(() => delayed.test(service.errors), service);
  proxy.script = () => undefined;
  const origin = await service.ready();
  assert.equal((await fetch(`${origin}/readyz`)).status, 200);
});

/** The unit of systemd does not restart after status 2 (RestartPreventExitStatus). */
test('a store that stays out of reach ends the start with 1, wrong settings with 2', async (t) => {
  const unreachable = dynamoEnvironment('http://127.0.0.1:1', newPrefix());
  const away = ServeProcess.spawn(t, {
    data: newData(t),
    env: { ...env, ...unreachable, NODE_OPTIONS: isImpatient },
  });
  assert.equal(await away.ended(), 1);
  assert.match(away.errors, delayed);
  assert.match(away.errors, /^counterfoil: store .*cannot be reached \(ECONNREFUSED\)$/m);

  const missing = dynamoEnvironment(await dynamoEndpoint(), newPrefix());
  const wrong = ServeProcess.spawn(t, { data: newData(t), env: { ...env, ...missing } });
  assert.equal(await wrong.ended(), 2);
  assert.match(wrong.errors, /run: npx counterfoil store init/);
  assert.doesNotMatch(wrong.errors, delayed);
  assert.match(readFileSync('deploy/systemd/counterfoil.service', 'utf8'), /^RestartPreventExitStatus=2$/m);
});

test('an address that the machine does not have yet ends the start with 1, after a while', async (t) => {
  // TEST-NET-1 (RFC 5737)
  const service = ServeProcess.spawn(t, {
    data: newData(t),
    env: { ...env, HOST: '192.0.2.1', NODE_OPTIONS: isImpatient },
  });
  assert.equal(await service.ended(), 1);
  assert.match(service.errors, delayed);
  assert.match(service.errors, /^counterfoil: host \(HOST\): is not an address of this machine$/m);
});

test('a command that prints the master key may fail for a while', async (t) => {
  const file = join(newData(t), '../key');
  const service = ServeProcess.spawn(t, {
    data: newData(t),
    env: { COUNTERFOIL_LOG_LEVEL: 'warn', COUNTERFOIL_MASTER_KEY_COMMAND: `/bin/cat ${file}` },
  });
  await until(() => delayed.test(service.errors), service);
  writeFileSync(file, env.COUNTERFOIL_MASTER_KEY);
  await service.ready();
});

test('doctor reports a store that cannot be reached, and exits with 1', async () => {
  const { status, output } = await runCommand(['doctor'], {
    ...env,
    ...dynamoEnvironment('http://127.0.0.1:1', newPrefix()),
  });
  assert.equal(status, 1);
  assert.match(output, /^problem\s+data: store .*cannot be reached/m);
});

async function openProxy(t: TestContext): Promise<FaultProxy> {
  const proxy = await FaultProxy.open(await dynamoEndpoint());
  t.after(() => proxy.close());
  return proxy;
}

async function until(isSo: () => boolean, service: ServeProcess): Promise<void> {
  const giveUpAt = Date.now() + givenUpMs;
  while (!isSo()) {
    assert.ok(Date.now() < giveUpAt && !service.hasEnded, service.errors);
    await sleep(20);
  }
}

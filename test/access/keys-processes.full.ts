import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bearing, idWithin, newKey } from '../support/access/keys.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { runCommand } from '../support/command.ts';
import { readPath } from '../support/http/documented-operations.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { newDataFolder } from '../support/service.ts';

async function status(origin: string, key: string | undefined): Promise<number> {
  const headers = key === undefined ? {} : bearing(key);
  const response = await fetch(origin + readPath, { headers });
  await response.text();
  return response.status;
}

test('two running processes apply the creation, rotation and revocation of a key', async (t) => {
  const data = newData(t);
  const env = { COUNTERFOIL_DATA: data };
  const first = await ServeProcess.start(t, { data, simulate: true });
  const second = await ServeProcess.start(t, { data, simulate: true });
  const origins = [await first.ready(), await second.ready()];
  const all = (key: string | undefined) => Promise.all(origins.map((origin) => status(origin, key)));
  const until = async (key: string | undefined, expected: number) => {
    const giveUpAt = Date.now() + givenUpMs;
    while ((await all(key)).some((each) => each !== expected)) {
      assert.ok(Date.now() < giveUpAt, `${await all(key)} instead of ${expected}`);
      await sleep(20);
    }
  };
  assert.deepEqual(await all(undefined), [404, 404], 'open');

  const made = await runCommand(['keys', 'create', '--name', 'a', '--scope', 'tables:read'], env);
  const key = made.output.trim();
  assert.deepEqual(await all(key), [404, 404], 'a new key works at once');
  await until(undefined, 401);

  const id = idWithin(key);
  const rotated = (await runCommand(['keys', 'rotate', id], env)).output.trim();
  assert.deepEqual(await all(rotated), [404, 404], 'a new secret works at once');
  assert.deepEqual(await all(key), [404, 404], 'the previous secret still works');
  const again = (await runCommand(['keys', 'rotate', id, '--overlap', '0m'], env)).output.trim();
  assert.deepEqual(await all(again), [404, 404]);
  await until(rotated, 401);
  await until(key, 401);

  assert.equal((await runCommand(['keys', 'revoke', id], env)).status, 0);
  await until(again, 401);
  assert.deepEqual(
    await all(undefined),
    [401, 401],
    'the service stays closed after the last key is revoked',
  );
});

test('what one process changes over HTTP applies to it at once, and to another one: a new secret at once, an ended one soon', async (t) => {
  const data = newData(t);
  const first = await ServeProcess.start(t, { data, simulate: true });
  const second = await ServeProcess.start(t, { data, simulate: true });
  const [here, there] = [await first.ready(), await second.ready()];
  const send = async (method: string, path: string, by: string, body: object = {}) => {
    const headers = { 'content-type': 'application/json', ...bearing(by) };
    const response = await fetch(`${here}/v3/keys${path}`, { method, headers, body: JSON.stringify(body) });
    const { body: made } = (await response.json()) as { body: { id: string; key: string } };
    assert.equal(response.status, 200, JSON.stringify(made));
    return made;
  };
  const untilRejected = async (key: string | undefined) => {
    const giveUpAt = Date.now() + givenUpMs;
    while ((await status(there, key)) !== 401) {
      assert.ok(Date.now() < giveUpAt);
      await sleep(20);
    }
  };
  assert.equal(await status(there, undefined), 404, 'open');
  const admin = await newKey(data, { scopes: ['admin'] });
  await untilRejected(undefined);
  const made = await send('POST', '', admin, { name: 'a', scopes: ['tables:read'] });
  const rotated = await send('POST', `/${made.id}/rotate`, admin, { overlap_seconds: 0 });
  assert.deepEqual([await status(here, made.key), await status(there, rotated.key)], [401, 404]);
  await untilRejected(made.key);
  await send('DELETE', `/${made.id}`, admin);
  assert.equal(await status(here, rotated.key), 401);
  await untilRejected(rotated.key);
});

test('a service that other machines can reach does not start without a key, and names the command that creates one', async (t) => {
  const data = newData(t);
  for (const env of [
    { HOST: '0.0.0.0' },
    { HOST: '::' },
    { COUNTERFOIL_PAYMENT_HOST: '0.0.0.0', COUNTERFOIL_PAYMENT_PORT: '0' },
  ]) {
    const rejected = ServeProcess.spawn(t, { data, env: env as Record<string, string>, simulate: true });
    await assert.rejects(rejected.ready(), /before it was ready/);
    assert.equal(await rejected.ended(), 2);
    assert.match(rejected.errors, /can be reached from other machines/);
    assert.match(rejected.errors, /npx counterfoil keys create --name admin --scope admin/);
  }
  const key = await newKey(data);
  const service = await ServeProcess.start(t, { data, env: { HOST: '0.0.0.0' }, simulate: true });
  const origin = (await service.ready()).replace('0.0.0.0', '127.0.0.1');
  assert.equal(await status(origin, undefined), 401);
  assert.equal(await status(origin, key), 404);
});

test('keys list and audit list create no store', async (t) => {
  const data = newDataFolder(t);
  for (const args of [
    ['keys', 'list'],
    ['keys', 'revoke', 'a'],
    ['keys', 'rotate', 'a'],
    ['audit', 'list'],
  ]) {
    const ended = await runCommand(args, { COUNTERFOIL_DATA: data });
    assert.deepEqual([ended.status, ended.output], [2, '']);
    assert.match(ended.errors, /there is no store at/);
  }
  assert.ok(!existsSync(data));
});

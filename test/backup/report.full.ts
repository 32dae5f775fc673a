import assert from 'node:assert/strict';
import { once } from 'node:events';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BackupReport, Operator } from '../../client/src/operator.ts';
import { bearing, everyScope, idWithin, startServiceWithKeys } from '../support/access/keys.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { assertError } from '../support/http/error-response.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const path = '/v3/backups';
const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
/** 29 February: no backup but the first is due. */
const never = '0 0 29 2 *';

test(
  'a backup is made on request: the report, the audit trail and the list show it, and only one runs at a time',
  onLmdb,
  async (t) => {
    const { target, env } = prepare(t);
    const { service, keys } = await startServiceWithKeys(
      t,
      { admin: { scopes: ['admin'] }, other: { scopes: everyScope } },
      { env },
    );
    for (const method of ['GET', 'POST']) {
      assertError(await service.send(method, path), { status: 401, code: 'unauthenticated' });
      const rejected = await service.send(method, path, undefined, bearing(keys.other));
      assertError(rejected, { status: 403, code: 'forbidden' });
    }
    const { backups, audit } = new Operator({ url: service.origin, key: keys.admin });
    const first = await until(backups, ({ total, running }) => total === 1 && running === null);
    assert.deepEqual([first.target, first.schedule, first.keep], [target, never, 7]);
    assert.equal(first.newest?.name, first.backups[0]?.name);
    assert.ok((first.newest?.age_seconds ?? -1) >= 0);
    const book = { id: 'emma', name: 'Jane Austen' };
    await service.post('/v3/table/books/create', book, bearing(keys.admin));
    const requests = await Promise.all(
      Array.from({ length: 5 }, () => service.post(path, {}, bearing(keys.admin))),
    );
    const begun = requests.filter(({ status }) => status === 200);
    assert.equal(begun.length, 1);
    assert.ok(Date.parse(begun[0]?.json.body.running.since) > 0);
    for (const rejected of requests.filter(({ status }) => status !== 200))
      assertError(rejected, { status: 409, code: 'backup_running' });
    const second = await until(backups, ({ total, running }) => total === 2 && running === null);
    const [newest, oldest] = second.backups;
    assert.deepEqual([newest?.state, oldest], ['good', first.backups[0]]);
    assert.ok((newest?.position ?? 0) > (oldest?.position ?? 0), 'the item is in the second one');
    assert.ok((newest?.items ?? 0) > (oldest?.items ?? 0));
    assert.ok((newest?.bytes ?? 0) > 0);
    const { acts } = await audit.list();
    const asked = acts.filter(({ what }) => what === 'backup.requested');
    assert.deepEqual(
      asked.map(({ on, by, request_id }) => [on, by, request_id]),
      [[target, `key:${idWithin(keys.admin)}`, begun[0]?.headers.get('request-id')]],
    );
  },
);

test('a backup whose file is gone or cut is unusable, and not the newest good one', onLmdb, async (t) => {
  const { target, env } = prepare(t);
  const { origin } = await startTestService(t, { env });
  const { backups } = new Operator({ url: origin });
  const { newest } = await until(backups, ({ total, running }) => total === 1 && running === null);
  const file = join(target, `${newest?.name}.mdb`);
  renameSync(file, `${file}.away`);
  const without = await backups.read();
  assert.deepEqual(
    [without.backups[0]?.state, without.backups[0]?.bytes, without.newest],
    ['unusable', null, null],
  );
  writeFileSync(file, 'half');
  const cut = await backups.read();
  assert.deepEqual([cut.backups[0]?.state, cut.backups[0]?.bytes, cut.newest], ['unusable', 4, null]);
  renameSync(`${file}.away`, file);
  assert.equal((await backups.read()).backups[0]?.state, 'good');
});

test(
  'continuous backup shows how far it is, and a target that is away why; it is known after a restart',
  onLmdb,
  async (t) => {
    const { target, env } = prepare(t, { COUNTERFOIL_BACKUP_CONTINUOUS: '1' });
    const data = newDataFolder(t);
    const service = await startTestService(t, { data, env });
    const { backups } = new Operator({ url: service.origin });
    await service.post('/v3/table/books/create', { id: 'emma', name: 'Jane Austen' });
    const archived = await until(
      backups,
      ({ continuous, total, running }) =>
        total === 1 &&
        running === null &&
        continuous?.position !== null &&
        continuous?.position === continuous?.store_position,
    );
    assert.equal(archived.continuous?.lag_seconds, 0);
    assert.deepEqual([archived.last_failure, archived.problem], [null, null]);
    renameSync(target, `${target}-away`);
    await service.post('/v3/table/books/create', { id: 'dracula', name: 'Bram Stoker' });
    const away = await until(backups, ({ last_failure }) => last_failure !== null);
    assert.match(away.problem ?? '', /there is no such folder/);
    assert.deepEqual([away.total, away.backups], [null, []]);
    assert.equal(away.last_failure?.what, 'continuous');
    assert.ok(away.last_failure?.message.startsWith(target), away.last_failure?.message);
    assert.ok((away.continuous?.position ?? 0) < (away.continuous?.store_position ?? 0));
    assert.ok((away.continuous?.lag_seconds ?? -1) >= 0);
    await service.stop();
    renameSync(`${target}-away`, target);
    const again = await startTestService(t, { data, env });
    const after = await until(
      new Operator({ url: again.origin }).backups,
      ({ continuous, total }) => total === 1 && continuous?.position === continuous?.store_position,
    );
    assert.equal(after.last_failure?.message, away.last_failure?.message);
  },
);

test('a target that does not respond is shown as such, and holds up no other request', onLmdb, async (t) => {
  let requests = 0;
  const silent = createServer(() => requests++).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => {
    silent.close();
    silent.closeAllConnections();
  });
  const { env } = prepare(t, {
    COUNTERFOIL_BACKUP_TARGET: 's3://bucket/prefix',
    COUNTERFOIL_BACKUP_S3_ENDPOINT: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
    COUNTERFOIL_BACKUP_S3_REGION: 'us-east-1',
  });
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'canary-4711' });
  t.after(() => {
    for (const [name, value] of Object.entries({ AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY }))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
  const service = await startTestService(t, { env });
  let isOver = false;
  const reading = Promise.all([service.get(path), service.get(path)]).finally(() => {
    isOver = true;
  });
  for (const giveUpAt = Date.now() + givenUpMs; requests === 0; await sleep(20))
    assert.ok(Date.now() < giveUpAt, 'the target is asked');
  assert.equal((await service.get('/readyz')).status, 200);
  assert.equal(isOver, false);
  for (const { status, json, text } of await reading) {
    assert.equal(status, 200);
    const { target, problem, total, backups } = json.body;
    assert.deepEqual([target, total, backups], ['s3://bucket/prefix', null, []]);
    assert.equal(problem, 's3://bucket/prefix: has not responded within 10 s');
    assert.ok(!text.includes('canary'));
  }
});

function prepare(t: TestContext, changed: Readonly<Record<string, string>> = {}) {
  const target = `${newDataFolder(t)}-backups`;
  t.after(() => rmSync(target, { recursive: true, force: true }));
  return {
    target,
    env: { COUNTERFOIL_BACKUP_TARGET: target, COUNTERFOIL_BACKUP_SCHEDULE: never, ...changed },
  };
}

async function until(
  backups: Operator['backups'],
  holds: (report: BackupReport) => boolean,
): Promise<BackupReport> {
  for (const giveUpAt = Date.now() + givenUpMs; ; await sleep(50)) {
    const report = await backups.read();
    if (holds(report)) return report;
    assert.ok(Date.now() < giveUpAt, JSON.stringify(report));
  }
}

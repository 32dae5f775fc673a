import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Target } from '../../src/backup/s3-target.ts';
import { readSmall } from '../../src/backup/small-files.ts';
import { BackupFailed } from '../../src/backup/target.ts';
import type { Write } from '../../src/storage/engine.ts';
import { backupsIn } from '../../src/storage/lmdb/backup/catalogue.ts';
import { JournalArchiver } from '../../src/storage/lmdb/backup/journal-archiver.ts';
import { makeBackup } from '../../src/storage/lmdb/backup/make.ts';
import { restoreBackup } from '../../src/storage/lmdb/backup/restore.ts';
import { openLmdbEngine, storeFile } from '../../src/storage/lmdb/open.ts';
import { testTargetContract } from '../contracts/backup-target.ts';
import { S3Proxy } from '../support/backup/s3-proxy.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder } from '../support/service.ts';

/** Backups on a real S3 server, which scripts/conformance-s3.sh starts. It has the bucket `bucket`. */
const endpoint = process.env.S3_ENDPOINT ?? '';
const region = process.env.AWS_REGION ?? '';
const items = 60_000;

const newUrl = () => `s3://bucket/${randomUUID()}/of-a-test`;
testTargetContract('S3', { newTarget: async () => new S3Target(newUrl(), { endpoint, region }) });

test('the commands back up to a bucket, restore from it, and keep the given number', async (t) => {
  const [data, target] = [await filled(t), newUrl()];
  const env = { ...credentials(), COUNTERFOIL_BACKUP_S3_ENDPOINT: endpoint, COUNTERFOIL_DATA: data };
  const run = (...args: string[]) => runCommand([...args, '--json'], env);
  const made: string[] = [];
  for (let n = 0; n < 3; n++) {
    const { status, output, errors } = await run('backup', target, '--keep', '2');
    assert.equal(status, 0, errors);
    made.push(JSON.parse(output).name);
  }
  const listed = (await run('backup', target, '--list')).output.trim().split('\n');
  assert.deepEqual(
    listed.map((line) => JSON.parse(line).name),
    made.slice(1),
  );
  for (const from of [target, `${target}/${made[1]}`]) {
    const restored = newDataFolder(t);
    const { status, errors } = await runCommand(['restore', from], { ...env, COUNTERFOIL_DATA: restored });
    assert.equal(status, 0, errors);
    assert.equal(await countIn(restored), items);
  }
  assert.deepEqual(
    readdirSync(data).filter((name) => name.startsWith('unfinished')),
    [],
    'the copy beside the store is removed',
  );
});

test('continuous backup goes on when the server is back, and every moment can be restored', async (t) => {
  const proxy = await S3Proxy.open(endpoint);
  t.after(() => proxy.close());
  const target = new S3Target(newUrl(), { endpoint: proxy.endpoint, region, idleMsMax: 500 });
  const data = newDataFolder(t);
  const engine = openLmdbEngine(data);
  t.after(() => engine.close());
  const create = (id: string) =>
    engine.commit([{ kind: 'create', space: 'table:t', id, value: 'x', makeSpace: true }]);
  const archiver = new JournalArchiver(storeFile(data), target);
  archiver.lease.take();
  await archiver.round();
  await makeBackup(storeFile(data), target);
  await create('one');
  await archiver.round();
  const moment = Date.now();
  await sleep(5);
  for (const fault of [
    { kind: 'status', status: 507, code: 'InsufficientStorage' },
    { kind: 'status', status: 500, code: 'InternalError' },
    { kind: 'hang' },
  ] as const) {
    proxy.script = ({ method }) => (method === 'PUT' ? fault : undefined);
    await create(`during ${JSON.stringify(fault)}`);
    await assert.rejects(archiver.round(), BackupFailed);
  }
  proxy.script = () => undefined;
  await archiver.round();
  // The next process sees a listing without the newest segment: it sends nothing twice that matters.
  await archiver.close();
  const next = new JournalArchiver(storeFile(data), target);
  const late = (body: string) =>
    body.replaceAll(/<Contents>.*?<\/Contents>/gs, (each) => (each.includes('journal-') ? '' : each));
  proxy.script = ({ path }) => (path.includes('list-type=2') ? { kind: 'edit', edit: late } : undefined);
  next.lease.take();
  await create('last');
  assert.equal((await next.round()).begun, undefined);
  await next.close();
  proxy.script = () => undefined;
  for (const [at, count] of [
    [moment, 1],
    [undefined, 5],
  ] as const) {
    const restored = newDataFolder(t);
    await restoreBackup(target, restored, { at, others: [], prepare: async () => undefined });
    assert.equal(await countIn(restored), count);
  }
});

test('a server that fails now and then, is slow and breaks off downloads loses nothing', async (t) => {
  const { target, proxy, data } = await behindProxy(t);
  proxy.script = ({ before }) =>
    before % 3 === 0 ? { kind: 'status', status: 503, code: 'SlowDown' } : undefined;
  await makeBackup(storeFile(data), target);
  let cuts = 0;
  proxy.script = ({ method, path }) => {
    if (method !== 'GET' || !path.includes('.mdb')) return undefined;
    return cuts++ < 3
      ? { kind: 'cut', afterBytes: 1_000_000 }
      : { kind: 'slow', pieceBytes: 32_000, pauseMs: 1 };
  };
  const restored = newDataFolder(t);
  await restoreBackup(target, restored, { others: [], prepare: async () => undefined });
  assert.equal(await countIn(restored), items);
  assert.ok(cuts >= 4, 'the download went on after each break');
});

for (const [what, fault, code, message] of [
  ['is full', { kind: 'status', status: 507, code: 'InsufficientStorage' }, 'target_full', /is full/],
  [
    'rejects the credentials',
    { kind: 'status', status: 403, code: 'AccessDenied' },
    'target_unusable',
    /credentials are rejected/,
  ],
  ['hangs', { kind: 'hang' }, 'target_unusable', /cannot be reached or used \((TimeoutError|ECONNRESET)\)/],
] as const) {
  test(`a server that ${what} while a backup is written: a sentence, and nothing is listed`, async (t) => {
    const { target, proxy, data } = await behindProxy(t);
    proxy.script = ({ method }) => (method === 'PUT' || method === 'POST' ? fault : undefined);
    await assert.rejects(makeBackup(storeFile(data), target), (error) => {
      assert.ok(error instanceof BackupFailed, String(error));
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
    proxy.script = () => undefined;
    assert.deepEqual(await backupsIn(target), []);
    assert.deepEqual(
      readdirSync(data).filter((name) => name.startsWith('unfinished')),
      [],
    );
  });
}

test('a listing that is late does not fail a backup, and none beyond the kept ones is lost', async (t) => {
  const { target, proxy, data } = await behindProxy(t);
  const first = await makeBackup(storeFile(data), target);
  // From now on a listing shows what was there before.
  const without = (body: string) =>
    body.replaceAll(/<Contents>.*?<\/Contents>/gs, (each) => (each.includes(first.name) ? each : ''));
  proxy.script = ({ path }) => (path.includes('list-type=2') ? { kind: 'edit', edit: without } : undefined);
  const second = await makeBackup(storeFile(data), target, { keep: 2 });
  assert.deepEqual(second.deleted, []);
  proxy.script = () => undefined;
  assert.deepEqual(
    (await backupsIn(target)).map(({ name }) => name),
    [first.name, second.name],
  );
});

test('a server that does not know conditional writes gets plain ones', async (t) => {
  const { target, proxy } = await behindProxy(t);
  let rejected = 0;
  proxy.script = ({ method }) =>
    method === 'PUT' && rejected++ === 0
      ? { kind: 'status', status: 501, code: 'NotImplemented' }
      : undefined;
  assert.equal(await target.put('a.json', Buffer.from('{}')), 'written');
  assert.equal((await readSmall(target, 'a.json', 10))?.toString(), '{}');
});

test('no bucket, no credentials, no server: a sentence each, and exit 1', async (t) => {
  const data = await filled(t, 10);
  const env = { ...credentials(), COUNTERFOIL_BACKUP_S3_ENDPOINT: endpoint, COUNTERFOIL_DATA: data };
  const nowhere = { AWS_EC2_METADATA_DISABLED: 'true', AWS_SHARED_CREDENTIALS_FILE: '/nonexistent' };
  for (const [changed, target, message] of [
    [{}, 's3://no-such-bucket/x', /there is no such bucket/],
    [{ ...nowhere, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }, newUrl(), /no credentials; set AWS_/],
    [{ AWS_SECRET_ACCESS_KEY: 'another' }, newUrl(), /credentials are rejected/],
    [{ COUNTERFOIL_BACKUP_S3_ENDPOINT: 'http://127.0.0.1:1' }, newUrl(), /cannot be reached.*ECONNREFUSED/],
  ] as const) {
    const { status, errors } = await runCommand(['backup', target], { ...env, ...changed });
    assert.equal(status, 1, errors);
    assert.match(errors, message);
    assert.match(errors, /^counterfoil: [^\n]*\n$/);
  }
});

async function behindProxy(t: TestContext) {
  const proxy = await S3Proxy.open(endpoint);
  t.after(() => proxy.close());
  const target = new S3Target(newUrl(), { endpoint: proxy.endpoint, region, idleMsMax: 500 });
  t.after(() => target.close());
  return { proxy, target, data: await filled(t) };
}

/** A data folder with a store of about ten megabytes. */
async function filled(t: TestContext, count = items): Promise<string> {
  const folder = newDataFolder(t);
  const engine = openLmdbEngine(folder);
  const create = (n: number): Write => {
    const value = 'x'.repeat(140);
    return { kind: 'create', space: 'table:t', id: `${n}`, value, makeSpace: true };
  };
  const batch = (from: number) =>
    engine.commit(Array.from({ length: Math.min(100, count - from) }, (_, n) => create(from + n)));
  await Promise.all(Array.from({ length: Math.ceil(count / 100) }, (_, n) => batch(n * 100)));
  await engine.close();
  return folder;
}

async function countIn(folder: string): Promise<number | undefined> {
  const engine = openLmdbEngine(join(folder));
  const count = await engine.count('table:t');
  await engine.close();
  return count;
}

function credentials() {
  const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env;
  return { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION: region };
}

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openLmdbEngine } from '../../src/storage/lmdb/open.ts';
import { runCommand } from '../support/command.ts';
import { dynamoEndpoint, dynamoRegion, newPrefix } from '../support/dynamodb/stores.ts';
import { killedAt } from '../support/kill-at.ts';
import { between, pick, randomFrom, seedOf } from '../support/random.ts';
import { ServeProcess } from '../support/serve-process.ts';
import { newDataFolder, startTestService, type TestService } from '../support/service.ts';
import { contentOf, fill, items } from '../support/storage/copied-stores.ts';
import { assertWhole } from '../support/storage/verify-command.ts';

const path = '/stage/payment/simulated/charge';
const chargeBody = { amount: 2_000, currency: 'EUR', token: 'tok_paid', metadata: { order: 'A-7' } };
const web = '/v3/create/service/auth/google/web';
const credentials = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' };
const key = { 'idempotency-key': 'order-1' };

async function dynamoEnv(): Promise<Record<string, string>> {
  return {
    COUNTERFOIL_DYNAMODB_ENDPOINT: await dynamoEndpoint(),
    COUNTERFOIL_DYNAMODB_REGION: dynamoRegion,
    COUNTERFOIL_DYNAMODB_TABLE_PREFIX: newPrefix(),
    COUNTERFOIL_DECLARED_TABLES: 'books',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
}

function copy(from: string, to: string, env: Record<string, string> = {}, more: readonly string[] = []) {
  return runCommand(['store', 'copy', '--from', from, '--to', to, ...more], env);
}

test('continues a service in DynamoDB, and then in a folder again, without a difference', async (t) => {
  const env = await dynamoEnv();
  const first = await startTestService(t);
  const paid = await first.post(path, chargeBody, key);
  const id = paid.headers.get('payment-id') as string;
  await first.post('/v3/table/books/create', { id: 'moby-dick', name: 'Herman Melville' });
  await first.post(web, credentials);
  const known = { paid: paid.text, shown: (await first.get(`${path}/${id}`)).text, id };
  await first.stop();

  assert.equal((await runCommand(['store', 'init'], { ...env, COUNTERFOIL_STORE: 'dynamodb' })).status, 0);
  const there = await copy('lmdb', 'dynamodb', { ...env, COUNTERFOIL_DATA: first.data });
  assert.equal(there.status, 0, there.errors);
  assert.match(there.output, /^\d+ items of \d spaces copied and verified\n/);
  assert.match(there.output, new RegExp(`sealed by master key [0-9a-f]{16}, .*: ${first.data}.key; start`));
  assert.doesNotMatch(there.output, /declare/);
  const away = { ...env, COUNTERFOIL_STORE: 'dynamodb' };
  const second = await startTestService(t, { env: away, data: first.data });
  await assertContinues(second, known);
  await second.stop();

  const folder = newDataFolder(t);
  const back = await copy('dynamodb', `lmdb:${folder}`, { ...env, COUNTERFOIL_DATA: first.data });
  assert.equal(back.status, 0, back.errors);
  assert.match(back.output, new RegExp(`${first.data}.key; copy it to ${folder}.key, or give it as`));
  await assertWhole(folder);
  await assert.rejects(startTestService(t, { data: folder }), /does not exist, but secrets in this store/);
  copyFileSync(`${first.data}.key`, `${folder}.key`);
  await assertContinues(await startTestService(t, { data: folder }), known);
});

async function assertContinues(
  service: TestService,
  { paid, shown, id }: { readonly paid: string; readonly shown: string; readonly id: string },
): Promise<void> {
  assert.equal((await service.get(`${path}/${id}`)).text, shown);
  const again = await service.post(path, chargeBody, key);
  assert.deepEqual([again.text, again.headers.get('idempotent-replayed')], [paid, 'true']);
  assert.equal((await service.post(web, credentials)).status, 200, 'the sealed secret is read');
  assert.equal((await service.post(web, { ...credentials, IDP_CLIENT_SECRET: 'other' })).status, 409);
  assert.deepEqual((await service.get('/v3/table/books/read')).json.body, [
    { id: 'moby-dick', name: 'Herman Melville' },
  ]);
}

/** Creates a folder with a store of several batches. */
async function filled(t: TestContext): Promise<string> {
  const folder = newDataFolder(t);
  mkdirSync(join(folder, '..'), { recursive: true });
  const engine = openLmdbEngine(folder);
  await fill({ name: folder, engine }, { 'table:books': items(650), 'service:payments': items(150) });
  await engine.close();
  return folder;
}

async function contentIn(folder: string) {
  const engine = openLmdbEngine(folder);
  try {
    return await contentOf({ name: folder, engine });
  } finally {
    await engine.close();
  }
}

test('continues a killed copy with the same command; until then no service starts on the target', async (t) => {
  const random = randomFrom(seedOf(t));
  const folder = await filled(t);
  // Concurrent commits share a flush, so there are fewer flushes than commits.
  for (const at of [
    `${pick(random, ['before', 'after'])} copying ${between(random, 2, 3)}`,
    'before copying last',
  ]) {
    const target = newDataFolder(t);
    assert.equal((await copy(`lmdb:${folder}`, `lmdb:${target}`, killedAt(at))).status, null, at);
    await assert.rejects(startTestService(t, { data: target }), /unfinished copy from lmdb:.*continues/, at);
    const ended = await copy(`lmdb:${folder}`, `lmdb:${target}`);
    assert.deepEqual([ended.status, ended.output], [0, '800 items of 2 spaces copied and verified\n'], at);
    assert.deepEqual(await contentIn(target), await contentIn(folder));
    await assertWhole(target);
  }
});

test('rejects a source or a target that a service has open', async (t) => {
  const folder = await filled(t);
  const empty = newDataFolder(t);
  const { pid } = await ServeProcess.start(t, { data: folder });
  for (const [from, to] of [
    [folder, empty],
    [empty, folder],
  ] as const) {
    mkdirSync(empty, { recursive: true });
    openLmdbEngine(empty).close();
    const ended = await copy(`lmdb:${from}`, `lmdb:${to}`);
    assert.equal(ended.status, 2);
    assert.match(ended.errors, new RegExp(`process ${pid} has it open; stop the service first`));
  }
});

test('ends with status 1 if the copy differs, and names the difference', async (t) => {
  const [folder, target] = [await filled(t), newDataFolder(t)];
  await copy(`lmdb:${folder}`, `lmdb:${target}`, killedAt('before copying last'));
  const engine = openLmdbEngine(target);
  await engine.commit([{ kind: 'delete', space: 'table:books', id: 'id-00007' }]);
  await engine.close();
  const ended = await copy(`lmdb:${folder}`, `lmdb:${target}`);
  assert.equal(ended.status, 1, ended.errors);
  assert.match(ended.output, /^table:books: 650 items in the source, 649 in the target\nthe copy is not/);
});

test('lists undeclared tables of the target, and adds nothing twice with --into-existing', async (t) => {
  const [folder, target] = [await filled(t), newDataFolder(t)];
  const env = { COUNTERFOIL_TABLES: 'declared', COUNTERFOIL_DECLARED_TABLES: 'films' };
  const first = await copy(`lmdb:${folder}`, `lmdb:${target}`, env);
  assert.match(first.output, /^declare these tables \(COUNTERFOIL_DECLARED_TABLES\), .*: books$/m);
  const rejected = await copy(`lmdb:${folder}`, `lmdb:${target}`);
  assert.deepEqual([rejected.status, rejected.output], [2, '']);
  assert.match(rejected.errors, /is not empty: service:payments has items; use --into-existing/);
  const again = await copy(`lmdb:${folder}`, `lmdb:${target}`, {}, ['--into-existing']);
  assert.deepEqual([again.status, again.output], [0, '800 items of 2 spaces copied and verified\n']);
});

test('reports invalid arguments, and creates nothing', async (t) => {
  const none = newDataFolder(t);
  const env = await dynamoEnv();
  for (const [from, to, problem] of [
    ['lmdb:', 'lmdb', /--from: must be lmdb/],
    ['lmdb', 'redis', /--to: must be lmdb/],
    [`lmdb:${none}`, `lmdb:${none}-2`, /there is no store at/],
    ['dynamodb', `lmdb:${none}`, /the table .*counterfoil does not exist; run: .* store init/],
  ] as const) {
    const ended = await copy(from, to, { ...env, COUNTERFOIL_DATA: none });
    assert.equal(ended.status, 2);
    assert.match(ended.errors, problem);
    assert.ok(!existsSync(none) && !existsSync(`${none}-2`));
  }
});

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CreateKeyRequest } from '../../src/access/keys/api-key.ts';
import { apiKeysMax } from '../../src/access/keys/api-keys.ts';
import { checkCreateKeyRequest } from '../../src/access/keys/create-key-request.ts';
import { keyCreated } from '../../src/access/keys/key-store.ts';
import type { Scope } from '../../src/access/scopes.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { bearing, idWithin, keyRequest, newKey, withKeys } from '../support/access/keys.ts';
import { type Ended, runCommand } from '../support/command.ts';
import { integration, payment, readPath } from '../support/http/documented-operations.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { newDataFolder, openStoreOf, startTestService } from '../support/service.ts';

function commandOn(data: string, more: Record<string, string> = {}) {
  return (...args: string[]): Promise<Ended> => runCommand(args, { COUNTERFOIL_DATA: data, ...more });
}

function start(t: TestContext) {
  const data = newDataFolder(t);
  return { data, run: commandOn(data) };
}

test('keys create: creates a missing store, and prints only the key, once', async (t) => {
  const { run } = start(t);
  const made = await run(
    'keys',
    'create',
    '--name',
    'back office',
    '--scope',
    'tables:read',
    '--table',
    'a',
    '--table',
    'b',
  );
  assert.equal(made.status, 0, made.errors);
  assert.match(made.output, /^cfk_[0-9a-f]{16}\.[A-Za-z0-9_-]{43}\n$/);
  assert.match(made.errors, /never shown again/);
  const key = made.output.trim();
  const secret = key.slice(-43);
  const [id = ''] = [idWithin(key)];
  assert.ok(!made.errors.includes(secret));

  const listed = await run('keys', 'list');
  assert.match(
    listed.output,
    new RegExp(`^KEY .*\n${id}  valid .*back office  never .*  tables:read on a b\n$`),
  );
  const json = await run('keys', 'list', '--json');
  const { created_at: createdAt, ...shown } = JSON.parse(json.output);
  assert.ok(Date.parse(createdAt) <= Date.now());
  assert.deepEqual(shown, {
    id,
    kind: 'secret',
    name: 'back office',
    status: 'valid',
    scopes: ['tables:read'],
    tables: ['a', 'b'],
    routes: null,
    origins: null,
    created_by: 'cli',
    expires_at: null,
    revoked_at: null,
    previous_until: null,
    last_used_at: null,
  });
  for (const { output } of [listed, json]) assert.ok(!output.includes(secret));
});

test('keys create: describes a publishable key as public, and a secret key as secret', async (t) => {
  const { run } = start(t);
  const origin = 'https://shop.example';
  const made = await run('keys', 'create', '--publishable', '--name', 'shop', '--origin', origin);
  assert.equal(made.status, 0, made.errors);
  assert.match(made.output, /^cfp_[0-9a-f]{16}\.[A-Za-z0-9_-]{43}\n$/);
  assert.match(made.errors, /^This is publishable API key [0-9a-f]{16} \(shop\)\. It is not a secret/);
  assert.doesNotMatch(made.errors, /never shown/);
  assert.match(
    made.errors,
    /\nWarning: it cannot take payments on charge, .* set payments\.routes\.charge\.price\.\n$/,
  );
});

test('keys rotate and revoke: a key has at most two secrets, and a revoked key stays revoked', async (t) => {
  const { data, run } = start(t);
  const key = await newKey(data, { name: 'a' });
  const id = idWithin(key);
  const rotated = await run('keys', 'rotate', id, '--overlap', '2h');
  assert.equal(rotated.status, 0, rotated.errors);
  assert.equal(idWithin(rotated.output.trim()), id, 'the id stays the same');
  const [listed] = (await run('keys', 'list', '--json')).output.split('\n');
  const hours = (Date.parse(JSON.parse(listed ?? '').previous_until) - Date.now()) / 3_600_000;
  assert.ok(hours > 1.9 && hours <= 2, `${hours}`);
  assert.equal((await run('keys', 'revoke', id)).output, `API key ${id} (a) is revoked\n`);
  assert.equal((await run('keys', 'revoke', id)).status, 0, 'a second revocation changes nothing');
  const late = await run('keys', 'rotate', id);
  assert.deepEqual(
    [late.status, late.errors],
    [2, 'counterfoil: This API key has ended; create a new one.\n'],
  );
  assert.match((await run('keys', 'list')).output, /revoked/);
});

test('rejects a key whose fields contradict each other', () => {
  const browser = { kind: 'publishable', scopes: ['payments:create'] } as const;
  const origins = ['https://a.example'];
  const requests: readonly (readonly [Partial<CreateKeyRequest>, RegExp])[] = [
    [{ scopes: [] }, /needs a scope/],
    [{ scopes: ['tables:all' as Scope] }, /no scope tables:all/],
    [{ scopes: ['admin'], tables: ['a'] }, /cannot be limited/],
    [{ scopes: ['admin'], routes: ['stripe/charge'] }, /cannot be limited/],
    [{ scopes: ['tables:read'], routes: ['stripe/charge'] }, /begins with payments:/],
    [{ scopes: ['payments:read'], tables: ['a'] }, /begins with tables:/],
    [{ tables: ['a b'] }, /not a valid table name/],
    [{ tables: [] }, /limited to 1 to/],
    [{ routes: ['charge'] }, /processor\/route/],
    [{ origins }, /Only a publishable key/],
    [{ ...browser, origins: [] }, /needs the origins/],
    [{ ...browser, origins, scopes: ['admin'] }, /only create payments/],
    [{ ...browser, origins, scopes: ['payments:create', 'payments:read'] }, /only create payments/],
    [{ ...browser, origins, tables: ['a'] }, /begins with tables:/],
    ...['*', 'null', 'a.example', 'https://a.example/', 'http://a.example', 'https://A.example'].map(
      (origin) => [{ ...browser, origins: [origin] }, /is not an origin/] as const,
    ),
    [{ expiresAt: new Date(0).toISOString() }, /must be in the future/],
    ...['', 'a\nb', 'a\u0000', 'x'.repeat(101)].map((name) => [{ name }, /name must be/] as const),
  ];
  for (const [fields, expected] of requests) {
    assert.throws(
      () => checkCreateKeyRequest(keyRequest(fields), Date.now()),
      expected,
      JSON.stringify(fields),
    );
  }
  for (const fields of [
    { tables: ['a'], routes: ['stripe/charge'] },
    { ...browser, origins: ['https://a.example:8443', 'http://localhost:3000'], routes: ['stripe/charge'] },
  ]) {
    checkCreateKeyRequest(keyRequest(fields), Date.now());
  }
});

test('audit list: shows every administrative act and its actor, recorded in the same commit', async (t) => {
  const { data, run: runWithoutLedger } = start(t);
  const admin = await newKey(data, { name: 'admin', scopes: ['admin'] });
  const ledger = await startLedger(t, new MemoryLedger());
  const ledgerEnv = { COUNTERFOIL_SIMULATED_LEDGER: ledger.origin };
  const service = await startTestService(t, { data, env: ledgerEnv });
  await service.post(integration.path, integration.body, bearing(admin));
  await service.post(integration.path, integration.body, bearing(admin));
  const paid = await service.post(payment.path, payment.body, bearing(admin));
  const paymentId = paid.headers.get('payment-id') as string;
  const refund = await commandOn(data, ledgerEnv)('payments', 'refund', paymentId, '--key', 'r');
  assert.equal(refund.status, 0, refund.errors);
  await commandOn(data, ledgerEnv)('payments', 'refund', paymentId, '--key', 'r');
  const id = idWithin(admin);
  await runWithoutLedger('keys', 'rotate', id);
  await runWithoutLedger('keys', 'revoke', id);

  const listed = await runWithoutLedger('audit', 'list', '--json');
  const acts = listed.output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    acts.map(({ what, on, by }) => `${what} ${on} ${by}`),
    [
      `key.created ${id} cli`,
      acts[1].what === 'secrets.key_noted' ? `secrets.key_noted ${acts[1].on} service` : '',
      `integration.registered google/shop key:${id}`,
      `payment.refunded ${paymentId} cli`,
      `key.rotated ${id} cli`,
      `key.revoked ${id} cli`,
    ],
  );
  assert.match(acts[2].request_id, /^req_/);
  assert.deepEqual(
    acts.map(({ at }) => at),
    acts.map(({ at }) => at).toSorted(),
  );
  const since = await runWithoutLedger('audit', 'list', '--since', acts[4].at);
  assert.match(since.output, /^TIME .*\n\S+ {2}key\.rotated .* cli {2}–\n\S+ {2}key\.revoked .*\n$/);
});

test('an expired or revoked key makes room for a new one, and the number of keys is limited', async (t) => {
  const { data } = start(t);
  const { id: _, ...request } = await withKeys(data, async (keys) => (await keys.create(keyRequest())).key);
  const engine = await openStoreOf(data);
  const ids = Array.from({ length: apiKeysMax - 1 }, (_, n) => n.toString(16).padStart(16, '0'));
  for (let at = 0; at < ids.length; at += 100) {
    await engine.commit(ids.slice(at, at + 100).map((id) => keyCreated({ id, ...request })));
  }
  await engine.close();
  await withKeys(data, async (keys) => {
    await assert.rejects(keys.create(keyRequest()), /1000 API keys already/);
    await keys.revoke(ids[7] as string);
    const late = await keys.create(keyRequest());
    const left = (await keys.list()).map(({ id }) => id);
    assert.deepEqual(
      [left.length, left.includes(ids[7] as string), left.includes(late.key.id)],
      [apiKeysMax, false, true],
    );
    await assert.rejects(keys.create(keyRequest()), /already/);
  });
});

test('no key appears in clear in the logs, in the responses or on disk', async (t) => {
  const { data, run } = start(t);
  const used = await newKey(data, { scopes: ['tables:read'] });
  const { get, post, stop, logged } = await startTestService(t, { data });
  const rotated = (await run('keys', 'rotate', idWithin(used))).output.trim();
  const wrong = `${used.slice(0, -1)}${used.endsWith('A') ? 'B' : 'A'}`;
  const responses: string[] = [];
  for (const key of [used, rotated, wrong, `${used}x`]) {
    for (const headers of [bearing(key), { authorization: `Basic ${key}` }, { authorization: key }]) {
      for (const response of [
        await get(readPath, headers),
        await post(payment.path, payment.body, headers),
      ]) {
        responses.push(response.text, JSON.stringify([...response.headers]));
      }
    }
  }
  await stop();
  const folder = dirname(data);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name)));
  assert.ok(files.length >= 2);
  const places = [...files, Buffer.from(logged()), Buffer.from(responses.join('\n'))];
  for (const key of [used, rotated, wrong]) {
    const secret = key.slice(-43, -1);
    const bytes = Buffer.from(secret, 'base64url');
    for (const form of [secret, bytes, bytes.toString('hex'), Buffer.from(secret, 'utf16le')]) {
      for (const place of places) assert.ok(!place.includes(form));
    }
  }
});

import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type DoctorReport, Operator } from '../../client/src/operator.ts';
import { newPaymentId } from '../../src/payments/payment.ts';
import { bearing, everyScope, newKey, startServiceWithKeys } from '../support/access/keys.ts';
import { assertError } from '../support/http/error-response.ts';
import { newDataFolder, openStoreOf, startTestService, type TestService } from '../support/service.ts';
import { startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const path = '/v3/doctor';
const yearMs = 365 * 24 * 60 * 60 * 1_000;
const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
const credentials = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'canary-4711-secret' };

test(
  'an administrator sees every check without a problem, and the master keys; nothing secret',
  onLmdb,
  async (t) => {
    const { service, keys } = await startServiceWithKeys(t, {
      admin: { scopes: ['admin'] },
      other: { scopes: everyScope },
    });
    assertError(await service.get(path), { status: 401, code: 'unauthenticated' });
    assertError(await service.get(path, bearing(keys.other)), { status: 403, code: 'forbidden' });
    await service.post('/v3/create/service/auth/google/web', credentials, bearing(keys.admin));
    const report = await new Operator({ url: service.origin, key: keys.admin }).doctor();
    assert.equal(report.status, 'ok', JSON.stringify(report));
    assert.deepEqual(
      report.checks.map(({ check, status }) => `${status} ${check}`),
      [
        'ok store',
        'ok master keys',
        'ok secrets',
        'ok rotation',
        'ok clock',
        'ok payments',
        'ok disk',
        'ok address',
        'ok processors',
        'ok backups',
      ],
    );
    const [key, ...others] = report.master_keys;
    assert.deepEqual([key?.is_writing, key?.state, key?.secrets, others], [true, 'sealing', 1, []]);
    assert.ok(Date.parse(key?.since ?? '') <= Date.now());
    const text = JSON.stringify(report);
    for (const secret of ['canary-4711', readFileSync(`${service.data}.key`, 'utf8').trim(), keys.admin])
      assert.ok(!text.includes(secret), secret);
  },
);

test('reports what has become wrong while it runs, and what to do', onLmdb, async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/create/service/auth/google/web', credentials);
  chmodSync(`${service.data}.key`, 0o640);
  const engine = await openStoreOf(service.data);
  const id = newPaymentId(Date.now() + 60 * 60 * 1_000);
  await engine.commit([
    { kind: 'create', space: 'service:payments', id, value: '{}', makeSpace: true },
    { kind: 'replace', space: 'service:integrations', id: 'google/web', value: '{"nonsense":' },
  ]);
  await engine.close();
  const report = await doctorOf(service);
  assert.equal(report.status, 'problem');
  const problems = report.checks.filter(({ status }) => status === 'problem');
  assert.deepEqual(
    problems.map(({ check }) => check),
    ['master keys', 'secrets', 'clock'],
  );
  const [keys, secrets, clock] = problems;
  assert.match(keys?.message ?? '', /other users can read it; run: chmod 600/);
  assert.match(secrets?.message ?? '', /google\/web: is not a record/);
  assert.match(secrets?.action ?? '', /register it again/);
  assert.match(clock?.message ?? '', new RegExp(`payment ${id} was made later`));
  assert.equal(clock?.action, 'set it');
});

test('warns of a master key that has sealed for more than two years', onLmdb, async (t) => {
  const data = newDataFolder(t);
  await (await startTestService(t, { data })).stop();
  const young = await startTestService(t, { data, now: () => Date.now() + 1.9 * yearMs });
  assert.equal((await doctorOf(young)).status, 'ok');
  await young.stop();
  const service = await startTestService(t, { data, now: () => Date.now() + 2.1 * yearMs });
  const report = await doctorOf(service);
  assert.equal(report.status, 'warning');
  const [rotation, ...others] = report.checks.filter(({ status }) => status !== 'ok');
  assert.deepEqual(
    [rotation?.check, rotation?.action, others],
    ['rotation', 'run counterfoil secrets rotate', []],
  );
});

test('calls the processors that have a key, once for callers at the same time', onLmdb, async (t) => {
  const stripe = await startScriptedStripe(t);
  const wrong = 'sk_test_canary4711canary4711';
  const env = { COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const well = await startTestService(t, { env: { ...env, COUNTERFOIL_STRIPE_KEY: stripe.key } });
  const reports = await Promise.all(Array.from({ length: 5 }, () => doctorOf(well)));
  assert.equal(new Set(reports.map(({ checked_at }) => checked_at)).size, 1, 'they share one examination');
  const processor = reports[0]?.checks.filter(({ check }) => check === 'processor stripe');
  assert.deepEqual(
    processor?.map(({ status }) => status),
    ['ok', 'ok'],
  );
  const data = newDataFolder(t);
  const key = await newKey(data, { scopes: ['admin'] });
  const rejected = await startTestService(t, {
    data,
    keyless: true,
    env: { ...env, COUNTERFOIL_STRIPE_KEY: wrong },
  });
  const text = (await rejected.get(path, bearing(key))).text;
  const [found] = (JSON.parse(text).body as DoctorReport).checks.filter(({ status }) => status === 'problem');
  assert.match(found?.message ?? '', /rejects the key .*401/);
  assert.equal(found?.action, "check it in the processor's dashboard");
  assert.ok(!text.includes('canary4711'));
});

async function doctorOf({ origin, keyHeader }: TestService): Promise<DoctorReport> {
  const key = keyHeader.authorization?.slice('Bearer '.length);
  return new Operator({ url: origin, ...(key === undefined ? {} : { key }) }).doctor();
}

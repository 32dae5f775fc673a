import assert from 'node:assert/strict';
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { newPaymentId } from '../../src/payments/payment.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder, openStoreOf, startTestService } from '../support/service.ts';

const space = 'service:integrations';
const credentials = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' };

function doctorOf(data: string, env: Readonly<Record<string, string>> = {}) {
  return runCommand(['doctor'], { COUNTERFOIL_DATA: data, PORT: '0', ...env });
}

function linesThat(begin: string, output: string): string[] {
  return output.split('\n').filter((line) => line.startsWith(begin));
}

/** A stopped service's data folder with two integrations. */
async function newStore(t: Parameters<typeof startTestService>[0]): Promise<string> {
  const service = await startTestService(t);
  for (const name of ['web', 'app'])
    await service.post(`/v3/create/service/auth/google/${name}`, credentials);
  await service.stop();
  return service.data;
}

test('doctor: reports no problem next to a running service', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/create/service/auth/google/web', credentials);
  const { status, output, errors } = await doctorOf(service.data, { PORT: new URL(service.origin).port });
  assert.deepEqual([status, errors, linesThat('problem', output)], [0, '', []]);
  const checks = output
    .trim()
    .split('\n')
    .map((line) => /^ok (\w+ ?\w+)/.exec(line)?.[1]);
  assert.deepEqual(checks, [
    'settings',
    'store',
    'master keys',
    'secrets',
    'rotation',
    'clock',
    'payments',
    'disk',
    'address',
    'processors',
    'backups',
  ]);
  assert.match(output, /all 1 open/);
});

test('doctor: finds what the running service finds of itself', async (t) => {
  const service = await startTestService(t);
  await service.post('/v3/create/service/auth/google/web', credentials);
  const { output } = await doctorOf(service.data, { PORT: new URL(service.origin).port });
  const { checks } = (await service.get('/v3/doctor')).json.body;
  const own = ['store', 'clock', 'disk', 'address'];
  const shared = checks.filter(({ check }: { check: string }) => !own.includes(check));
  assert.equal(shared.length, 6);
  for (const { check, status, message, action } of shared) {
    const line = `${status} ${check}: ${message}${action === null ? '' : `; ${action}`}`;
    assert.ok(output.split('\n').includes(line), `${line}\n${output}`);
  }
});

test('doctor: reports a secret that was changed and one that was moved, and what to do', async (t) => {
  const data = await newStore(t);
  const engine = await openStoreOf(data);
  t.after(() => engine.close());
  const [web = '', app = ''] = await Promise.all([
    engine.get(space, 'google/web'),
    engine.get(space, 'google/app'),
  ]);
  const sealOf = (text: string) => (JSON.parse(text) as { sealedSecret: string }).sealedSecret;
  const store = (name: string, value: string) =>
    engine.commit([{ kind: 'replace', space, id: `google/${name}`, value }]);
  await store('web', web.replace(sealOf(web), sealOf(app)));
  const moved = await doctorOf(data);
  assert.equal(moved.status, 1);
  assert.match(
    moved.output,
    /problem secrets: integration google\/web, client_secret: .*moved.*register it again/,
  );
  assert.equal(linesThat('problem', moved.output).length, 1, 'the other one opens');
  const last = sealOf(web).at(-10) === 'A' ? 'B' : 'A';
  await store('web', web.replace(sealOf(web), `${sealOf(web).slice(0, -10)}${last}${sealOf(web).slice(-9)}`));
  assert.match((await doctorOf(data)).output, /problem secrets: integration google\/web, client_secret/);
  await store('web', '{"nonsense":');
  assert.match(
    (await doctorOf(data)).output,
    /problem secrets: service:integrations google\/web: is not a record/,
  );
});

test('doctor: reports a key file that other users can read, a lost key and a wrong key', async (t) => {
  const data = await newStore(t);
  const other = await newStore(t);
  chmodSync(`${data}.key`, 0o640);
  const open = await doctorOf(data);
  assert.equal(open.status, 1);
  assert.match(open.output, /problem data: .*run: chmod 600/);
  renameSync(`${other}.key`, `${data}.key`);
  assert.match((await doctorOf(data)).output, /problem data: .*sealed by master key \w{16}/);
  assert.match((await doctorOf(other)).output, /problem data: .*restore it/);
  assert.ok(!existsSync(`${other}.key`), 'it creates no new key');
  writeFileSync(`${data}.key`, 'nonsense\n', { mode: 0o600 });
  assert.match((await doctorOf(data)).output, /problem data: .*must be 32 bytes in base64/);
});

test('doctor: reports invalid settings and a folder without a store, and creates no store', async (t) => {
  const data = newDataFolder(t);
  const wrong = await doctorOf(data, { PORT: 'many', HOST: '0.0.0.0' });
  assert.equal(wrong.status, 1);
  assert.match(wrong.output, /^problem settings: port \(PORT\)/m);
  const none = await doctorOf(data);
  assert.equal(none.status, 1);
  assert.match(none.output, /^ok settings\nproblem data: .*there is no store at/);
  assert.ok(!existsSync(data) && !existsSync(`${data}.key`));
  const usage = await runCommand(['doctor', '--nonsense'], { COUNTERFOIL_DATA: data });
  assert.equal(usage.status, 2);
});

test('doctor: reports a clock that was set back, because a payment is newer', async (t) => {
  const data = await newStore(t);
  const engine = await openStoreOf(data);
  const id = newPaymentId(Date.now() + 60 * 60 * 1_000);
  await engine.commit([{ kind: 'create', space: 'service:payments', id, value: '{}', makeSpace: true }]);
  await engine.close();
  const { status, output } = await doctorOf(data);
  assert.equal(status, 1);
  assert.match(output, new RegExp(`problem clock: .* payment ${id} was made later; set it`));
});

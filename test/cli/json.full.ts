import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { bearing } from '../support/access/keys.ts';
import { type Ended, runCommand } from '../support/command.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { startForOperators } from '../support/sign-in/operators.ts';

const path = '/stage/payment/simulated/charge';

test('--json prints of every listing one object a line, with names in snake case', async (t) => {
  const { run, pay } = await start(t);
  await pay();
  await run('keys', 'create', '--name', 'a', '--scope', 'admin', '--expires', '1h');
  for (const [command, fields] of [
    [
      ['payments', 'list'],
      ['id', 'status', 'charge_id', 'created_at'],
    ],
    [
      ['keys', 'list'],
      ['id', 'status', 'created_at', 'expires_at', 'last_used_at'],
    ],
    [
      ['users', 'list'],
      ['id', 'email', 'first_sign_in_at', 'last_sign_in_at'],
    ],
    [
      ['sessions', 'list'],
      ['id', 'user', 'created_at', 'expires_at'],
    ],
    [
      ['audit', 'list'],
      ['id', 'at', 'what', 'request_id'],
    ],
    [['config'], ['name', 'value', 'source', 'is_secret']],
  ] as const) {
    const { status, output, errors } = await run(...command, '--json');
    assert.deepEqual([status, errors], [0, ''], command.join(' '));
    const objects = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.ok(objects.length > 0);
    for (const object of objects) {
      assertSnakeCase(object);
      for (const field of fields) assert.ok(field in object, `${command.join(' ')}: ${field}`);
    }
  }
});

test('--json prints of every other command one object on one line', async (t) => {
  const { run, pay, person, data } = await start(t);
  const [paid, other] = [await pay(), await pay()];
  const copy = newDataFolder(t);
  for (const [args, field, status] of [
    [['version'], 'version', 0],
    [['verify'], 'is_whole', 0],
    [['doctor'], 'checks', 0],
    [['secrets', 'status'], 'master_keys', 0],
    [['secrets', 'rotate'], 'is_complete', 0],
    [['payments', 'show', paid], 'charge_id', 0],
    [['payments', 'refund', paid, '--amount', '5'], 'refund_id', 0],
    [['payments', 'reconcile', 'simulated'], 'differences', 0],
    [['users', 'show', person.id], 'first_sign_in_at', 0],
    [['sessions', 'end', '--user', person.id], 'ended', 0],
    [['users', 'delete', person.id], 'deleted', 0],
  ] as const) {
    const object = objectOf(await run(...args, '--json'), status);
    assert.ok(field in object, args.join(' '));
  }
  const failed = await run('payments', 'cancel', other, '--json');
  assert.deepEqual([failed.status, failed.output], [2, ''], 'it has succeeded already');
  assert.equal(JSON.parse(failed.errors).error.code, 'invalid_request');
  const copied = await run('store', 'copy', '--from', `lmdb:${data}`, '--to', `lmdb:${copy}`, '--json');
  assert.deepEqual(
    [copied.status, JSON.parse(copied.errors).error.code],
    [2, 'invalid_settings'],
    'it is served',
  );
});

test('store copy --json: prints one object', async (t) => {
  const { data, stop } = await startTestService(t);
  await stop();
  const stores = ['--from', `lmdb:${data}`, '--to', `lmdb:${newDataFolder(t)}`];
  const copied = await runCommand(['store', 'copy', ...stores, '--json'], { COUNTERFOIL_DATA: data });
  assert.equal(objectOf(copied, 0).is_identical, true);
});

test('keys create and rotate --json: the object has the key, which is shown once', async (t) => {
  const { data, service, run } = await start(t);
  assert.ok(data.length > 0);
  const made = objectOf(await run('keys', 'create', '--name', 'a', '--scope', 'tables:write', '--json'), 0);
  const write = (key: string) =>
    service.post('/v3/table/books/create', { id: key.slice(-9), name: 'x' }, bearing(key));
  assert.equal((await write(String(made.key))).status, 200);
  const rotated = objectOf(await run('keys', 'rotate', String(made.id), '--overlap', '0m', '--json'), 0);
  assert.equal((await write(String(rotated.key))).status, 200);
  const revoked = objectOf(await run('keys', 'revoke', String(made.id), '--json'), 0);
  assert.deepEqual([revoked.status, 'key' in revoked], ['revoked', false]);
});

test('errors with --json are one object on standard error, with the same exit status', async (t) => {
  const { run } = await start(t);
  for (const [args, status, code] of [
    [['payments', 'show', 'pay_none'], 2, 'payment_not_found'],
    [['users', 'show', 'nobody'], 2, 'user_not_found'],
    [['secrets', 'retire'], 1, 'nothing_to_retire'],
    [['payments', 'list', '--limit', '0'], 2, 'usage'],
  ] as const) {
    const [plain, json] = [await run(...args), await run(...args, '--json')];
    assert.deepEqual([plain.status, json.status, json.output], [status, status, '']);
    const { error } = JSON.parse(json.errors);
    assert.deepEqual(Object.keys(error), ['code', 'message']);
    assert.equal(error.code, code);
    assert.equal(plain.errors, `counterfoil: ${error.message}\n`);
  }
  const wrong = await runCommand(['doctor-not', '--json'], {});
  assert.deepEqual([wrong.status, JSON.parse(wrong.errors).error.code], [2, 'usage']);
  const settings = await runCommand(['verify', '--json'], { PORT: 'many', COUNTERFOIL_LOG_LEVEL: 'loud' });
  const { error } = JSON.parse(settings.errors);
  assert.deepEqual(
    [settings.status, error.code, error.message.split('\n').length],
    [2, 'invalid_settings', 2],
  );
});

/** A running service with a user, and the command on its data folder. */
async function start(t: TestContext) {
  const { origin } = await startLedger(t, new MemoryLedger());
  const env = { COUNTERFOIL_SIMULATED_LEDGER: origin };
  const { service, enter } = await startForOperators(t, { data: newDataFolder(t), env });
  const person = await enter('user-1');
  const run = (...args: string[]) =>
    runCommand(args, { ...env, COUNTERFOIL_DATA: service.data, PORT: new URL(service.origin).port });
  const pay = async () => {
    const charge = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };
    return (await service.post(path, charge)).headers.get('payment-id') ?? '';
  };
  return { service, data: service.data, person, run, pay };
}

function objectOf({ status, output, errors }: Ended, expected: number): Record<string, unknown> {
  assert.equal(status, expected, output + errors);
  assert.match(output, /^\{.*\}\n$/);
  const object = JSON.parse(output);
  assertSnakeCase(object);
  return object;
}

function assertSnakeCase(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    assert.match(key, /^[a-z0-9_]+$/);
    assertSnakeCase(inner);
  }
}

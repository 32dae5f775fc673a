import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { keyFileTurnMs } from '../../src/secrets/limits.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import {
  assertReadable,
  clientOf,
  command,
  keepBusy,
  keyLines,
  register,
  retireLater,
} from '../support/secrets/rotation.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

test('rotates under load: every secret stays readable in every process, and ends up under the new key', async (t) => {
  const data = newData(t);
  const serving = await ServeProcess.start(t, { data, simulate: true, workers: 2 });
  const service = clientOf(await serving.ready());
  const names = await register(service, 120);
  const [before] = keyLines(data);
  const ends = [1, 2].map((number) => keepBusy(service, `busy-${number}`));
  const rotated = await command(data)('secrets', 'rotate');
  assert.equal(rotated.status, 0, rotated.errors);
  const works = await Promise.all(ends.map((end) => end()));
  assert.deepEqual(
    works.flatMap(({ failedStatuses }) => failedStatuses),
    [],
  );
  const busy = works.flatMap((work) => work.names);
  await assertReadable(service, [...names, ...busy]);

  const [first, ...others] = keyLines(data);
  assert.deepEqual(others, [before]);
  assert.notEqual(first, before);
  const again = await command(data)('secrets', 'rotate');
  assert.equal(again.status, 0, again.errors);
  assert.equal(keyLines(data)[0], first, 'a second rotation waits until the first key is retired');
  assert.equal((await retireLater(data)).status, 0);
  assert.deepEqual(keyLines(data), [first]);
  await assertReadable(service, [...names, ...busy]);
  const anew = await ServeProcess.start(t, { data, simulate: true });
  await assertReadable(clientOf(await anew.ready()), [...names, ...busy]);
  const doctor = await command(data)('doctor');
  assert.deepEqual([doctor.status, doctor.errors], [0, ''], doctor.output);
});

test('a process seals under the new key soon after the key file says so', async (t) => {
  const data = newDataFolder(t);
  const service = await startTestService(t, { data });
  await register(service, 1, 'before');
  const [old = ''] = keyLines(data);
  const fresh = randomBytes(32).toString('base64');
  writeFileSync(`${data}.key`, `${fresh}\n${old}\n`);
  await sleep(keyFileTurnMs);
  await register(service, 1, 'after');
  const { output } = await command(data)('secrets', 'status');
  assert.match(output, / seals {2}1 secrets\n.* sealing {2}1 secrets/);
});

test('rotates secrets of every kind, and still settles a charge in progress', async (t) => {
  const ledger = new HeldLedger();
  const { origin } = await startLedger(t, ledger);
  const service = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  await register(service, 1);
  assert.equal((await service.get('/.well-known/jwks.json')).status, 200);
  const request = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };
  const paying = service.post('/stage/payment/simulated/charge', request);
  await ledger.asked.promise;
  const rotated = await command(service.data)('secrets', 'rotate');
  assert.match(rotated.output, /^3 records were put under/);
  const status = await command(service.data)('secrets', 'status');
  assert.match(status.output, / seals {2}3 secrets\n.* retiring {2}0 secrets/);
  ledger.released.resolve();
  const response = await paying;
  assert.equal(response.status, 200, response.text);
  assert.equal(ledger.charges.length, 1);
});

class HeldLedger extends MemoryLedger {
  readonly asked = Promise.withResolvers<void>();
  readonly released = Promise.withResolvers<void>();

  override async charge(...args: Parameters<MemoryLedger['charge']>) {
    this.asked.resolve();
    await this.released.promise;
    return super.charge(...args);
  }
}

test('retires no key that was used recently, and none that a secret still needs', async (t) => {
  const data = newDataFolder(t);
  const service = await startTestService(t, { data });
  await register(service, 2);
  const [old] = keyLines(data);
  assert.match((await command(data)('secrets', 'retire')).errors, /there is no old master key/);
  await command(data)('secrets', 'rotate');
  const early = await command(data)('secrets', 'retire');
  assert.deepEqual([early.status, keyLines(data).length], [2, 2]);
  assert.match(early.errors, /run this again in \d+ seconds/);
  const [fresh] = keyLines(data);
  // A process that does not know of the rotation, and does not read the file.
  const env = { COUNTERFOIL_MASTER_KEY: `${old},${fresh}` };
  const deaf = await ServeProcess.start(t, { data, env });
  await register(clientOf(await deaf.ready()), 1, 'late');
  assert.match((await retireLater(data)).errors, /1 secrets are under/);
  assert.equal((await command(data)('secrets', 'rotate')).status, 0);
  assert.equal((await retireLater(data)).status, 0);
});

test('only one rotation runs at a time, and a killed rotation does not block the next', async (t) => {
  const service = await startTestService(t);
  const { data } = service;
  await register(service, 1);
  const lock = `${data}.key.lock-elsewhere-1`;
  writeFileSync(lock, '');
  const rejected = await command(data)('secrets', 'rotate');
  assert.deepEqual([rejected.status, keyLines(data).length], [2, 1]);
  assert.match(rejected.errors, /another command is changing the master keys/);
  writeFileSync(`${data}.key.2147483646`, 'a draft');
  const folder = dirname(data);
  rmSync(lock);
  assert.equal((await command(data)('secrets', 'rotate')).status, 0);
  const left = readdirSync(folder).filter((name) => name.startsWith(`${basename(data)}.key.`));
  assert.deepEqual(left, []);
});

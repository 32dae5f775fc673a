import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { killedAt } from '../support/kill-at.ts';
import {
  assertReadable,
  command,
  keepBusy,
  keyLines,
  register,
  retireLater,
} from '../support/secrets/rotation.ts';
import { startTestService } from '../support/service.ts';

/** Kills before and after every change of a rotation; of the secrets, at the first, a middle and a late one. */
const steps = {
  'before the new key is in the key file': 'before rename 1',
  'after the new key is in the key file': 'after rename 1',
  'before the store records that it seals': 'before sealing 1',
  'after the store records that it seals': 'after sealing 1',
  'before it is the first of the key file': 'before rename 2',
  'after it is the first of the key file': 'after rename 2',
  'before a secret is rewrapped': 'before integrations 1',
  'after some secrets are rewrapped': 'after integrations 1',
  'after more secrets are rewrapped': 'after integrations 2',
} as const;

describe('a killed rotation', { concurrency: 3 }, () => {
  for (const [step, killAt] of Object.entries(steps)) {
    test(`${step}: every secret is readable, and the next call completes it`, (t) => killAtStep(t, killAt));
  }
});

/** Kills before and after every change of a retirement. */
const lastSteps = {
  'before the store records that the old key is retired': 'before sealing 1',
  'after the store records that the old key is retired': 'after sealing 1',
  'before the old key leaves the key file': 'before rename 1',
  'after the old key has left the key file': 'after rename 1',
  'before the store forgets the old key': 'before sealing 2',
} as const;

describe('a killed retirement', { concurrency: 3 }, () => {
  for (const [step, killAt] of Object.entries(lastSteps)) {
    test(`${step}: every secret is readable, and the next call completes it`, (t) =>
      killRetirement(t, killAt));
  }
});

async function killRetirement(t: TestContext, killAt: string): Promise<void> {
  const service = await startTestService(t);
  const { data } = service;
  const names = await register(service, 10);
  assert.equal((await command(data)('secrets', 'rotate')).status, 0);
  const [fresh] = keyLines(data);
  const end = keepBusy(service);
  const killed = await retireLater(data, killedAt(killAt));
  assert.equal(killed.status, null, `it was not killed: ${killed.output}${killed.errors}`);
  await assertReadable(service, names);
  const seen = await command(data)('secrets', 'status');
  assert.equal(
    seen.status,
    0,
    'a process that starts now has all keys that it needs, and every secret opens',
  );

  const retired = await retireLater(data);
  assert.equal(retired.status, 0, retired.errors);
  const { names: busy, failedStatuses } = await end();
  assert.deepEqual(failedStatuses, []);
  assert.deepEqual(keyLines(data), [fresh], 'the old key is gone');
  await assertReadable(service, [...names, ...busy]);
}

async function killAtStep(t: TestContext, killAt: string): Promise<void> {
  const service = await startTestService(t);
  const { data } = service;
  const names = await register(service, 30);
  const [old] = keyLines(data);
  const end = keepBusy(service);
  const killed = await command(data, killedAt(killAt))('secrets', 'rotate');
  assert.equal(killed.status, null, `it was not killed: ${killed.output}${killed.errors}`);
  await assertReadable(service, names.slice(0, 5));
  const seen = await command(data)('secrets', 'status');
  assert.equal(seen.status, 0, 'a process that starts now has all keys, and every secret opens');

  const rotated = await command(data)('secrets', 'rotate');
  assert.equal(rotated.status, 0, rotated.errors);
  const { names: busy, failedStatuses } = await end();
  assert.deepEqual(failedStatuses, []);
  const [fresh, ...others] = keyLines(data);
  assert.notEqual(fresh, old, 'the new key seals');
  assert.deepEqual(others, [old], 'there is one new key, although the rotation began twice');
  await assertReadable(service, [...names, ...busy]);
}

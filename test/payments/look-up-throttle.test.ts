import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LookUpThrottle } from '../../src/payments/context.ts';
import { authenticationLookUpsMax } from '../../src/payments/limits.ts';

test('callers run a bounded number of look-ups at once, and one of each payment', async () => {
  const pace = new LookUpThrottle<void>();
  const ends: (() => void)[] = [];
  const lookUp = () => new Promise<void>((resolve) => ends.push(resolve));
  const started = Array.from({ length: 100 }, (_, n) => pace.run(`pay_${n}`, lookUp)).filter(Boolean);
  assert.equal(started.length, authenticationLookUpsMax);
  assert.equal(pace.run('pay_0', lookUp), started[0], 'it is under way: callers share it');
  for (const end of ends) end();
  await Promise.all(started);
  assert.equal(pace.run('pay_0', lookUp), undefined, 'it was looked up just now');
  assert.ok(pace.run('pay_99', lookUp), 'there is room again');
});

test('a look-up that fails makes room too', async () => {
  const pace = new LookUpThrottle<never>();
  for (let n = 0; n < 2 * authenticationLookUpsMax; n++)
    await assert.rejects(pace.run(`pay_${n}`, () => Promise.reject(new Error('no'))) as Promise<never>);
});

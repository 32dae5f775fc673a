import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedListing } from '../../src/processors/sending/shared-listing.ts';
import { circuitFailuresMax, Throttle } from '../../src/processors/sending/throttle.ts';

test('recovery never exceeds its rate, however many calls wait', async () => {
  const throttle = new Throttle(200);
  const startedAt = performance.now();
  const turns = await Promise.all(Array.from({ length: 61 }, () => throttle.turn(10_000)));
  assert.ok(turns.every((turn) => turn));
  assert.ok(performance.now() - startedAt >= 60 * 5 - 5, '61 calls need 60 intervals of 5 ms');
});

test('a call whose turn would come too late is not made, and uses up no turn', async () => {
  const throttle = new Throttle(10);
  const turns = await Promise.all(Array.from({ length: 10 }, () => throttle.turn(250)));
  assert.equal(turns.filter((turn) => turn).length, 3);
});

test('after consecutive failures only one trial is sent, and one success closes the circuit', async () => {
  const throttle = new Throttle(1_000_000);
  for (let failed = 0; failed < circuitFailuresMax; failed++) {
    assert.ok(await throttle.turn(1_000));
    throttle.report(false);
  }
  assert.equal(await throttle.turn(1_000), false, 'the circuit is open');
  throttle.report(true);
  assert.ok(await throttle.turn(1_000));
});

test('concurrent look-ups of the same period share one listing, and those of another period have their own', async () => {
  const listed: string[] = [];
  const listing = new SharedListing<string>({
    list: async function* (period) {
      listed.push(`${period.from}-${period.until}`);
      yield { paymentId: 'pay_2', found: 'two' };
      yield { paymentId: undefined, found: 'another payment' };
    },
    weight: () => 2,
    errorDetail: String,
  });
  const found = await Promise.all([
    listing.find('pay_1', { from: 0, until: 10 }, 5_000),
    listing.find('pay_2', { from: 5, until: 20 }, 5_000),
    listing.find('pay_3', { from: 100, until: 110 }, 5_000),
  ]);
  assert.deepEqual(listed, ['0-20', '100-110']);
  assert.deepEqual(found, [{ kind: 'absent' }, { kind: 'found', found: 'two' }, { kind: 'absent' }]);
});

test('a list that cannot be read to its end proves nothing', async () => {
  const listing = new SharedListing<string>({
    list: async function* () {
      yield { paymentId: undefined, found: 'another payment' };
      throw new Error('page 2');
    },
    weight: () => 2,
    errorDetail: (error) => (error as Error).message,
  });
  assert.deepEqual(await listing.find('pay_1', { from: 0, until: 1 }, 5_000), {
    kind: 'unknown',
    detail: 'page 2',
  });
});

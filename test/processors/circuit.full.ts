import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sendOnce } from '../../src/processors/sending/send-once.ts';
import { circuitFailuresMax, circuitPauseMs, Throttle } from '../../src/processors/sending/throttle.ts';

test('concurrent failures open the circuit for one pause', async (t) => {
  const pass = passTime(t);
  const throttle = new Throttle(1_000_000);
  const underWay = Array.from({ length: 3 * circuitFailuresMax }, () => throttle.turn(1_000));
  assert.ok((await Promise.all(underWay)).every((turn) => turn));
  for (const _ of underWay) throttle.report(false);
  pass(circuitPauseMs + 100);
  assert.ok(await throttle.turn(1_000), 'one trial is due');
});

test('a trial that is aborted before it is sent does not keep the circuit open for its time-out', async (t) => {
  const pass = passTime(t);
  const throttle = new Throttle(1_000_000);
  for (let failed = 0; failed < circuitFailuresMax; failed++) throttle.report(false);
  pass(circuitPauseMs + 100);
  const url = new URL('http://127.0.0.1:1/');
  const signal = AbortSignal.abort();
  await assert.rejects(sendOnce({ url, method: 'GET', headers: {}, timeoutMs: 300_000, signal }, throttle));
  pass(2 * circuitPauseMs + 100);
  assert.ok(await throttle.turn(1_000), 'the next trial is due');
});

test('after any number of failed trials the next one is due as soon as after the first', async (t) => {
  const pass = passTime(t);
  const throttle = new Throttle(1_000_000);
  for (let failed = 0; failed < circuitFailuresMax; failed++) throttle.report(false);
  for (let failed = 0; failed < 4; failed++) {
    pass(circuitPauseMs + 100);
    assert.ok(await throttle.turn(1_000), `trial ${failed + 1} is due`);
    throttle.report(false);
  }
});

test('calls wait for a trial that is under way, and follow its success at once', async (t) => {
  const pass = passTime(t);
  const throttle = new Throttle(1_000_000);
  for (let failed = 0; failed < circuitFailuresMax; failed++) throttle.report(false);
  pass(circuitPauseMs + 100);
  assert.ok(await throttle.turn(1_000));
  const others = Promise.all(Array.from({ length: 20 }, () => throttle.turn(5_000)));
  assert.equal(await throttle.turn(20), false, 'but not beyond their time-outs');
  throttle.report(true);
  assert.ok((await others).every((turn) => turn));
});

test('calls that wait for a trial which fails are not made', async (t) => {
  const pass = passTime(t);
  const throttle = new Throttle(1_000_000);
  for (let failed = 0; failed < circuitFailuresMax; failed++) throttle.report(false);
  pass(circuitPauseMs + 100);
  assert.ok(await throttle.turn(1_000));
  const others = Promise.all(Array.from({ length: 20 }, () => throttle.turn(5_000)));
  throttle.report(false);
  assert.ok((await others).every((turn) => !turn));
});

/** A clock that only the test moves. */
function passTime(t: TestContext): (ms: number) => void {
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  return (ms) => {
    now += ms;
  };
}

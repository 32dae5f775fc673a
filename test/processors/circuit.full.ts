import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { circuitFailuresMax, circuitPauseMsMin } from '../../src/processors/sending/limits.ts';
import { Pace } from '../../src/processors/sending/pace.ts';
import { sendOnce } from '../../src/processors/sending/send-once.ts';

test('concurrent failures open the circuit for its first pause, not for its longest', async () => {
  const pace = new Pace(1_000_000);
  const underWay = Array.from({ length: 3 * circuitFailuresMax }, () => pace.turn(1_000));
  assert.ok((await Promise.all(underWay)).every((turn) => turn));
  for (const _ of underWay) pace.report(false);
  await sleep(circuitPauseMsMin + 100);
  assert.ok(await pace.turn(1_000), 'one trial is due');
});

test('a trial that is aborted before it is sent does not keep the circuit open for its time-out', async () => {
  const pace = new Pace(1_000_000);
  for (let failed = 0; failed < circuitFailuresMax; failed++) pace.report(false);
  await sleep(circuitPauseMsMin + 100);
  const url = new URL('http://127.0.0.1:1/');
  const signal = AbortSignal.abort();
  await assert.rejects(sendOnce({ url, method: 'GET', headers: {}, timeoutMs: 300_000, signal }, pace));
  await sleep(2 * circuitPauseMsMin + 100);
  assert.ok(await pace.turn(1_000), 'the next trial is due');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sends } from '../../src/processors/sending/send-once.ts';

test('a rejection after a retry is an unknown outcome, even when another call has the same key', async () => {
  const sends = new Sends();
  const first = Promise.withResolvers<void>();
  const rejected = sends.only('key', async () => {
    sends.count('key');
    sends.count('key');
    await first.promise;
    return { kind: 'not_attempted', detail: '429' };
  });
  const second = sends.only('key', async () => {
    sends.count('key');
    return { kind: 'succeeded' };
  });
  assert.equal((await second).kind, 'succeeded');
  first.resolve();
  assert.equal((await rejected).kind, 'unknown');
});

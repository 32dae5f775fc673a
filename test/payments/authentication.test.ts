import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { givenUpMs } from '../support/busy-machine.ts';
import { authenticate, begin, deadlineMs, ended, key, request } from '../support/payments/challenge.ts';
import {
  chargeRequest,
  chargesRequested,
  path,
  startWithStripe,
} from '../support/payments/stripe-service.ts';

test('a charge that needs authentication waits for its cardholder, holds its item, and reports the next action', async (t) => {
  const challenge = await begin(t);
  const { service, at, stripe } = challenge;
  const { status, next_action, item } = (await service.get(at)).json.body;
  assert.deepEqual([status, item.status, next_action.type], ['requires_action', 'awaited', 'redirect']);

  const again = await service.post(path, request, key);
  assert.equal(again.status, 402);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(again.json.body.error.next_action, next_action);
  const other = await service.post(path, { ...request, token: 'tok_paid' });
  assert.deepEqual([other.status, other.json.body.error.code], [409, 'item_exists']);
  assert.equal(chargesRequested(stripe), 1);
  const list = await service.get(path);
  assert.ok(!list.text.includes('next_action'), 'only who retrieves one payment receives its secret');
});

test('after the deadline the attempt is canceled at the processor, and then declined', async (t) => {
  const challenge = await begin(t);
  const { clock, intent, stripe, service } = challenge;
  clock.aheadMs = deadlineMs + 1;
  const payment = await ended(challenge);
  assert.deepEqual([payment.status, payment.decline_code], ['declined', 'authentication_timeout']);
  assert.equal(intent().status, 'canceled');
  assert.throws(() => authenticate(challenge, true), 'nobody can pay any more');
  assert.equal(stripe.charges.length, 0);
  const again = await service.post(path, request, key);
  assert.deepEqual([again.status, again.json.body.error.decline_code], [402, 'authentication_timeout']);
});

test('without a return_url the card is declined, and no intent stays open', async (t) => {
  const { service, stripe } = await startWithStripe(t);
  const { status, json } = await service.post(path, { ...chargeRequest, token: 'tok_requires_action' });
  assert.equal(status, 402);
  const { code, decline_code, next_action } = json.body.error;
  assert.deepEqual(
    [code, decline_code, next_action],
    ['authentication_required', 'authentication_required', undefined],
  );
  // Nobody waits for the cancellation.
  for (
    const giveUpAt = Date.now() + givenUpMs;
    stripe.records().intents[0]?.status !== 'canceled';
    await sleep(10)
  )
    assert.ok(Date.now() < giveUpAt, 'the intent stays open');
  assert.equal(stripe.records().intents.length, 1);
});

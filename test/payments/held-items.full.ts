import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { busyMachineMs } from '../support/busy-machine.ts';
import { challengeSettings } from '../support/payments/challenge.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import {
  chargeRequest,
  path,
  paymentAfter,
  type StripeService,
  startWithStripe,
} from '../support/payments/stripe-service.ts';
import { newDataFolder, startTestService } from '../support/service.ts';
import { startStripeProcess } from '../support/stripe/process.ts';

/** A hold ends so long after its deadline, or after the processor's return. */
const holdEndMsMax = 10_000;
const key = { 'idempotency-key': 'order-1042' };
const metadata = { seat: 'A-7' };
const returnUrl = 'https://shop.example/paid';
const lost = { ...chargeRequest, token: 'pm_error_before_charging', metadata };
const challenged = { ...chargeRequest, token: 'tok_requires_action', return_url: returnUrl, metadata };

describe('the hold of an item', { concurrency: 3 }, () => {
  for (const fences of ['work', 'fail'] as const) {
    test(`ends by the time that the next buyer was sent, while fences of the charge ${fences}`, async (t) => {
      const held = await hold(t, { ...lost, token: 'pm_reset_before_charging_then_429' });
      held.stripe.command({ set: { fences } });
      await retriesFor(held, 512);
      held.stripe.repair();
      const at = await sentTime(held);
      held.clock.aheadMs += at - held.now();
      await assertFreeWithin(held, holdEndMsMax);
    });
  }

  test('ends by the time that the next buyer was sent, although Stripe replays an error of the charge', async (t) => {
    const held = await hold(t, lost);
    await retriesFor(held, 512);
    held.clock.aheadMs += (await sentTime(held)) - held.now();
    await assertFreeWithin(held, holdEndMsMax);
  });

  test('ends soon after the processor has returned, however long it was away', async (t) => {
    const held = await hold(t, lost);
    held.stripe.turnsAway = true;
    await retriesFor(held, 8 * 512);
    const { message } = await rejection(held);
    assert.match(message, /ends when its payment processor responds/);
    held.stripe.turnsAway = false;
    await assertFreeWithin(held, holdEndMsMax);
  });

  test('ends by the cardholder’s deadline, or soon after the processor has returned', async (t) => {
    const held = await hold(t, challenged, 402);
    assert.ok((await sentTime(held)) >= held.now() + 1_700_000, 'the cardholder has half an hour');
    held.stripe.turnsAway = true;
    await retriesFor(held, 8 * 512);
    held.stripe.turnsAway = false;
    await assertFreeWithin(held, holdEndMsMax);
  });

  test('ends soon after the processor has returned, at a service that was started meanwhile', async (t) => {
    const stripe = await startStripeProcess(t, newDataFolder(t));
    const options = {
      data: newDataFolder(t),
      file: writeSettings(t, challengeSettings),
      env: { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin },
    };
    const first = await startTestService(t, options);
    const request = { ...lost, token: 'pm_dropped_after_charging' };
    const { status, headers } = await first.post(path, request, key);
    assert.equal(status, 504);
    await first.stop();
    await stripe.kill();
    const service = await startTestService(t, { ...options, ownerSilenceMsMax: 300 });
    await sleep(3_000);
    await stripe.start();
    const startedAt = performance.now();
    const payment = await paymentAfter(service, headers.get('location') ?? '', ['calling', 'in_doubt']);
    assert.equal(payment.status, 'succeeded');
    assert.ok(performance.now() - startedAt < holdEndMsMax + busyMachineMs);
  });
});

interface Held extends StripeService {
  readonly now: () => number;
}

/** A charge in doubt, or one that waits for its cardholder, that holds the seat. */
async function hold(t: TestContext, request: object, expected = 504): Promise<Held> {
  const started = await startWithStripe(t, { file: writeSettings(t, challengeSettings) });
  const { status, text } = await started.service.post(path, request, key);
  assert.equal(status, expected, text);
  return { ...started, now: () => Date.now() + started.clock.aheadMs };
}

/** Lets the time pass in growing steps, and recovery work in each: its pauses grow likewise. */
async function retriesFor({ stripe, clock }: Held, seconds: number): Promise<void> {
  for (let step = 2; step < seconds; step *= 2) {
    const before = stripe.requests.length;
    clock.aheadMs += step * 1_000;
    for (let waited = 0; stripe.requests.length === before && waited < 2_500; waited += 50) await sleep(50);
    // All calls of this attempt.
    await sleep(300);
  }
}

/** The rejection of the next buyer of the seat. */
async function rejection({ service }: Held) {
  const next = await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata });
  assert.equal(next.status, 409, next.text);
  assert.equal(next.json.body.error.code, 'item_exists');
  assert.equal(next.headers.get('retry-after'), '5');
  return next.json.body.error as { readonly message: string };
}

/** The time that the next buyer is sent, in milliseconds since 1970. */
async function sentTime(held: Held): Promise<number> {
  const { message } = await rejection(held);
  const at = Date.parse(/It ends by (\S+?Z)/.exec(message)?.[1] ?? '');
  assert.ok(at > held.now(), message);
  return at;
}

async function assertFreeWithin({ service }: Held, ms: number): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const { status, text } = await service.post(path, { ...chargeRequest, token: 'pm_card_visa', metadata });
    if (status === 200) return;
    assert.equal(status, 409, text);
    assert.ok(performance.now() - startedAt < ms + busyMachineMs, text);
    await sleep(100);
  }
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { recoveryIntervalMs } from '../../src/app/limits.ts';
import { chargeSoughtMsMax } from '../../src/payments/limits.ts';
import { type Payment, paymentsSpace } from '../../src/payments/payment.ts';
import { busyMachineMs, givenUpMs } from '../support/busy-machine.ts';
import { ServeProcess } from '../support/serve-process.ts';
import {
  adminKey,
  newDataFolder,
  openStoreOf,
  startTestService,
  type TestService,
} from '../support/service.ts';
import { deliveryOf, eventsOf, post, webhookSecret } from '../support/stripe/events.ts';
import { type ScriptedStripe, startScriptedStripe } from '../support/stripe/scripted-stripe.ts';
import { tryToSend } from '../support/try-to-send.ts';

const path = '/stage/payment/stripe/charge';
/** How long Stripe certainly remembers a key, according to the adapter. */
const keyLifeMs = 23 * 60 * 60 * 1_000;
const silenceMs = 2_500;
const request = { amount: 1_050, currency: 'EUR' };
const key = { 'idempotency-key': 'order-1042' };

/** A service with Stripe, whose clock a test can move forward. */
async function start(
  t: TestContext,
  options: { readonly stripe?: ScriptedStripe; readonly data?: string; readonly silenceMs?: number } = {},
) {
  const stripe = options.stripe ?? (await startScriptedStripe(t));
  const data = options.data ?? newDataFolder(t);
  const clock = { aheadMs: 0 };
  const now = () => Date.now() + clock.aheadMs;
  const service = await startTestService(t, {
    data,
    now,
    env: stripeSettings(stripe),
    ownerSilenceMsMax: options.silenceMs ?? silenceMs,
  });
  return { service, stripe, data, clock };
}

function stripeSettings({ key, origin }: ScriptedStripe): Record<string, string> {
  return {
    COUNTERFOIL_STRIPE_KEY: key,
    COUNTERFOIL_STRIPE_API_BASE: origin,
    COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: webhookSecret,
  };
}

/** The number of POST requests to Stripe; a look-up is a GET. */
function asksOf({ requests }: ScriptedStripe): number {
  return requests.filter(({ method }) => method === 'POST').length;
}

/** A data folder in which a killed process left a charge in the state `calling`, which Stripe has made. */
async function killWhileCalling(
  t: TestContext,
): Promise<{ stripe: ScriptedStripe; data: string; at: string }> {
  const stripe = await startScriptedStripe(t);
  const data = newDataFolder(t);
  const authorization = `Bearer ${await adminKey(data)}`;
  const process = await ServeProcess.start(t, { data, env: stripeSettings(stripe) });
  const sent = tryToSend((await process.ready()) + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization, ...key },
    body: JSON.stringify({ ...request, token: 'tok_never_replies' }),
  });
  await until(() => stripe.charges.length === 1);
  await process.kill();
  assert.equal(await sent, undefined);
  stripe.repair();
  return { stripe, data, at: `${path}/${stripe.charges[0]?.paymentId}` };
}

/** Each test waits for the recovery rounds of its own service: in parallel they take a third of the time. */
describe('recovery', { concurrency: 4 }, () => {
  test('finishes a charge of a killed process when its heartbeat has stopped for long enough, and charges once', async (t) => {
    const left = await killWhileCalling(t);
    // Long enough for a look-up on a busy machine.
    const { service, stripe } = await start(t, { ...left, silenceMs: recoveryIntervalMs + busyMachineMs });
    const sent = stripe.requests.length;
    await sleep(recoveryIntervalMs + 200);
    assert.equal((await service.get(left.at)).json.body.status, 'calling');
    assert.equal(
      stripe.requests.length,
      sent,
      'the killed process might be alive until its heartbeat has been missing for a while',
    );

    const payment = await statusAfter(service, left.at, ['calling', 'in_doubt']);
    assert.deepEqual([payment.status, payment.charge_id], ['succeeded', stripe.charges[0]?.chargeId]);
    assert.equal(stripe.charges.length, 1);
    const intents = stripe.requests.filter(({ path: asked }) => asked === '/v1/payment_intents');
    assert.equal(intents.length, 2);
    assert.deepEqual(intents[1]?.fields, intents[0]?.fields);
    assert.equal(intents[1]?.headers['idempotency-key'], intents[0]?.headers['idempotency-key']);

    const again = await service.post(path, { ...request, token: 'tok_never_replies' }, key);
    assert.equal(again.status, 200);
    assert.equal(again.json.body.message.charge_id, stripe.charges[0]?.chargeId);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
  });

  for (const days of [1, 31]) {
    test(`finds a charge that a killed process left ${days} days ago in Stripe’s records, and requests no new one`, async (t) => {
      const left = await killWhileCalling(t);
      const asked = asksOf(left.stripe);
      const { service, stripe, clock } = await start(t, left);
      clock.aheadMs = days * 25 * 60 * 60 * 1_000;
      const payment = await statusAfter(service, left.at, ['calling', 'in_doubt']);
      assert.deepEqual([payment.status, payment.charge_id], ['succeeded', stripe.charges[0]?.chargeId]);
      assert.equal(asksOf(stripe), asked);
      assert.equal(stripe.charges.length, 1);
    });
  }

  test('finds a charge in Stripe’s records although Stripe repeats the error that it returned after charging', async (t) => {
    const { service, stripe } = await start(t);
    stripe.repair();
    const lost = { ...request, token: 'tok_error_after_charging' };
    const first = await service.post(path, lost, key);
    assert.equal(first.status, 504);
    const payment = await statusAfter(service, first.headers.get('location') ?? '', ['in_doubt']);
    assert.deepEqual([payment.status, payment.charge_id], ['succeeded', stripe.charges[0]?.chargeId]);
    const again = await service.post(path, lost, key);
    assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true']);
    assert.equal(stripe.charges.length, 1);
  });

  test('retries a charge in doubt until its key may be forgotten, then looks it up, then marks it for review', async (t) => {
    const { service, stripe, clock } = await start(t);
    const lost = { ...request, token: 'tok_error_before_charging' };
    const first = await service.post(path, lost, key);
    assert.equal(first.status, 504);
    const at = first.headers.get('location') ?? '';

    const asked = asksOf(stripe);
    clock.aheadMs = 9 * 60_000;
    await until(() => asksOf(stripe) > asked);
    await until(async () => /"state":"in_doubt".*"state":"in_doubt"/s.test(service.logged()));
    const askedLast = asksOf(stripe);

    stripe.turnsAway = true;
    clock.aheadMs = keyLifeMs + 60_000;
    const looked = stripe.requests.length;
    await until(() => stripe.requests.length > looked);
    assert.equal(
      (await service.get(at)).json.body.status,
      'in_doubt',
      'a charge that is not found is not proven absent',
    );
    stripe.turnsAway = false;

    clock.aheadMs = keyLifeMs + 60 * 60_000;
    const payment = await statusAfter(service, at, ['in_doubt']);
    assert.equal(payment.status, 'needs_review');
    assert.equal(asksOf(stripe), askedLast);
    assert.equal(stripe.charges.length, 0);

    const again = await service.post(path, lost, key);
    assert.deepEqual([again.status, again.json.body.error.code], [504, 'payment_outcome_unknown']);
    assert.equal(again.json.body.error.retryable, false);
    assert.equal(asksOf(stripe), askedLast);
  });

  test('marks a charge for review when its look-up fails for days', async (t) => {
    const left = await killWhileCalling(t);
    left.stripe.turnsAway = true;
    const { service, clock } = await start(t, left);
    clock.aheadMs = keyLifeMs + chargeSoughtMsMax + 1_000;
    const payment = await statusAfter(service, left.at, ['calling', 'in_doubt']);
    assert.equal(payment.status, 'needs_review');
  });

  test('an event settles a charge that needs review', async (t) => {
    const left = await killWhileCalling(t);
    left.stripe.turnsAway = true;
    const { service, stripe, clock } = await start(t, left);
    clock.aheadMs = keyLifeMs + chargeSoughtMsMax + 1_000;
    await statusAfter(service, left.at, ['calling', 'in_doubt']);
    const [event] = eventsOf(stripe.records());
    assert.ok(event !== undefined);
    const delivery = deliveryOf(event, { signedAt: Date.now() + clock.aheadMs });
    assert.equal(await post(`${service.origin}/stage/events/stripe`, delivery), 200);
    const payment = (await service.get(left.at)).json.body;
    assert.deepEqual([payment.status, payment.charge_id], ['succeeded', stripe.charges[0]?.chargeId]);
  });

  test('promises no outcome and asks for no retry once a charge needs review', async (t) => {
    const { service, clock } = await start(t);
    const lost = { ...request, token: 'tok_error_before_charging' };
    const first = await service.post(path, lost, key);
    clock.aheadMs = keyLifeMs + chargeSoughtMsMax + 1_000;
    await statusAfter(service, first.headers.get('location') ?? '', ['in_doubt']);
    const again = await service.post(path, lost, key);
    assert.doesNotMatch(again.json.body.error.message, /is finding out|send the same request again/);
    assert.match(again.json.body.error.message, /may have succeeded/);
  });

  test('never takes a 429 as proof that an earlier attempt charged nothing', async (t) => {
    const { service, stripe, clock } = await start(t);
    const lost = { ...request, token: 'tok_dropped_after_charging' };
    const first = await service.post(path, lost, key);
    const at = first.headers.get('location') ?? '';
    stripe.repair();
    stripe.turnsAway = true;
    for (const round of [1, 2]) {
      const sent = stripe.requests.length;
      clock.aheadMs += 60_000;
      await until(() => stripe.requests.length > sent);
      await until(() => (service.logged().match(/"state":"in_doubt"/g) ?? []).length > round);
      assert.equal((await service.get(at)).json.body.status, 'in_doubt');
      const again = await service.post(path, lost, key);
      assert.deepEqual([again.status, again.headers.get('location')], [504, at]);
    }
    stripe.turnsAway = false;
    clock.aheadMs += 60_000;
    const payment = await statusAfter(service, at, ['in_doubt']);
    assert.deepEqual([payment.status, payment.charge_id], ['succeeded', stripe.charges[0]?.chargeId]);
    assert.equal(stripe.charges.length, 1);
  });

  test('reports a decline that it learned of late as a decline', async (t) => {
    const { service, stripe, clock } = await start(t);
    const first = await service.post(path, { ...request, token: 'tok_declined_and_dropped' }, key);
    assert.equal(first.status, 504);
    stripe.repair();
    clock.aheadMs = 60_000;
    const payment = await statusAfter(service, first.headers.get('location') ?? '', ['in_doubt']);
    assert.deepEqual([payment.status, payment.decline_code], ['declined', 'insufficient_funds']);
    const again = await service.post(path, { ...request, token: 'tok_declined_and_dropped' }, key);
    assert.deepEqual([again.status, again.json.body.error.code], [402, 'card_declined']);
    assert.equal(again.json.body.error.request_id, first.json.body.error.request_id);
  });

  for (const [token, aheadMs, ended] of [
    ['tok_dropped_after_charging', 60_000, 'succeeded'],
    ['tok_declined_and_dropped', 60_000, 'declined'],
    ['tok_error_before_charging', keyLifeMs + chargeSoughtMsMax + 1_000, 'needs_review'],
  ] as const) {
    test(`erases the sealed token of a charge that ended as ${ended}, and stores no token in clear`, async (t) => {
      const { service, stripe, data } = await start(t);
      const first = await service.post(path, { ...request, token }, key);
      const id = first.headers.get('payment-id') ?? '';
      await service.stop();
      assert.match((await storedPayment(data, id)).sealedToken ?? '', /^v3\./, 'a retry needs it');
      assert.ok(storedBytes(data).includes(id) && !storedBytes(data).includes(token));

      stripe.repair();
      const next = await start(t, { stripe, data });
      next.clock.aheadMs = aheadMs;
      assert.equal((await statusAfter(next.service, `${path}/${id}`, ['in_doubt'])).status, ended);
      await next.service.stop();
      const payment = await storedPayment(data, id);
      assert.equal(payment.state, ended);
      assert.equal(payment.sealedToken, undefined);
      assert.ok(!storedBytes(data).includes(token));
    });
  }
});

async function storedPayment(data: string, id: string): Promise<Payment> {
  const engine = await openStoreOf(data);
  const text = await engine.get(paymentsSpace, id);
  await engine.close();
  return JSON.parse(text ?? '{}');
}

function storedBytes(data: string): Buffer {
  return Buffer.concat(readdirSync(data).map((name) => readFileSync(join(data, name))));
}

/** The payment, once it has left these states. */
async function statusAfter(service: TestService, at: string, states: readonly string[]) {
  let payment = (await service.get(at)).json.body;
  await until(async () => {
    payment = (await service.get(at)).json.body;
    return !states.includes(payment.status);
  });
  return payment;
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + givenUpMs;
  while (!(await holds())) {
    assert.ok(Date.now() < giveUpAt, `not reached within ${givenUpMs} ms`);
    await sleep(20);
  }
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { refreshAuthentication } from '../../src/payments/charge/authenticate.ts';
import { LookUpThrottle, type PaymentContext } from '../../src/payments/context.ts';
import {
  authenticationLookUpMsMax,
  authenticationLookUpPauseMs,
  clockStepMsMax,
} from '../../src/payments/limits.ts';
import type { Payment } from '../../src/payments/payment.ts';
import { findPayment } from '../../src/payments/payment-store.ts';
import { Payments } from '../../src/payments/payments.ts';
import type { ChargeOutcome, ConnectedProcessor } from '../../src/processors/processor.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { authenticate, begin, type Challenge, key, request } from '../support/payments/challenge.ts';
import { contextOver } from '../support/payments/context-over.ts';
import { path } from '../support/payments/stripe-service.ts';

function lookUps({ stripe, intent }: Challenge): number {
  return stripe.requests.filter(({ method, path: to }) => method === 'GET' && to.endsWith(intent().id))
    .length;
}

test('after the challenge the same request returns the outcome at once, and then always the same bytes', async (t) => {
  const challenge = await begin(t);
  const { service } = challenge;
  authenticate(challenge, true);
  const first = await service.post(path, request, key);
  assert.deepEqual([first.status, first.json.body.message.message], [200, 'Payment successful!'], first.text);
  assert.equal(first.headers.get('idempotent-replayed'), 'true');
  const again = await service.post(path, request, key);
  assert.equal(again.text, first.text);
  assert.equal(lookUps(challenge), 1);
});

test('after a failed challenge the same request is declined, and charges nobody', async (t) => {
  const challenge = await begin(t);
  authenticate(challenge, false);
  const { status, json, headers } = await challenge.service.post(path, request, key);
  assert.deepEqual([status, json.body.error.code], [402, 'card_declined']);
  assert.equal(json.body.error.next_action, undefined);
  assert.equal(headers.get('idempotent-replayed'), 'true');
  assert.equal(challenge.stripe.charges.length, 0);
});

test('after the challenge the payment has its outcome at once when it is found by its idempotency key', async (t) => {
  const challenge = await begin(t);
  const find = async () =>
    (await challenge.service.get(`${path}?idempotency_key=${key['idempotency-key']}`)).json.body;
  const { status, next_action } = await find();
  assert.equal(status, 'requires_action');
  assert.deepEqual(next_action, (await challenge.service.get(challenge.at)).json.body.next_action);
  authenticate(challenge, true);
  // It was looked up just now.
  await sleep(authenticationLookUpPauseMs);
  assert.equal((await find()).status, 'succeeded');
});

test('callers at once share one look-up, however they ask, and all get the outcome', async (t) => {
  const challenge = await begin(t);
  const { service, at } = challenge;
  authenticate(challenge, true);
  const byKey = `${path}?idempotency_key=${key['idempotency-key']}`;
  const responses = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      n % 3 === 0 ? service.post(path, request, key) : service.get(n % 3 === 1 ? at : byKey),
    ),
  );
  for (const { status, json, text } of responses)
    assert.ok(status === 200 && (json.body.status ?? 'succeeded') === 'succeeded', text);
  assert.equal(lookUps(challenge), 1);
});

interface Processes {
  readonly payment: Payment;
  /** Two processes of one store. */
  readonly contexts: readonly [PaymentContext, PaymentContext];
  readonly clock: { aheadMs: number };
  /** How often the processor was asked. */
  readonly asked: () => number;
  /** Lets the processor reply. */
  readonly reply: (outcome: ChargeOutcome) => void;
}

const action = { type: 'redirect', url: 'https://bank.example/' } as const;
const waiting = { kind: 'requires_action', attemptId: 'pi_1', action } as const;
/** The clock of the second machine is ahead by this much. */
const skewMs = 20;
const paid = { kind: 'succeeded', chargeId: 'ch_1' } as const;

async function twoProcesses(t: TestContext): Promise<Processes> {
  const { context, store } = await contextOver(t, { charge: { unit: 'minor' } }, () => ({}));
  // A clock that stands still: a busy machine is no reason to look up again.
  const [startedAt, clock] = [Date.now(), { aheadMs: 0 }];
  const waits: ((outcome: ChargeOutcome) => void)[] = [];
  let asked = 0;
  const processor = {
    ...(context.processors.get('simulated') as ConnectedProcessor),
    charge: async () => waiting,
    findCharge: () => {
      asked++;
      return new Promise<ChargeOutcome>((resolve) => waits.push(resolve));
    },
  };
  const processOf = (aheadMs = 0): PaymentContext => ({
    ...context,
    processors: new Map([['simulated', processor]]),
    lookUpThrottle: new LookUpThrottle<Payment>(),
    now: () => startedAt + clock.aheadMs + aheadMs,
  });
  const contexts = [processOf(), processOf(skewMs)] as const;
  const { paymentId } = await new Payments(contexts[0]).charge({
    processor: 'simulated',
    route: 'charge',
    amount: 100,
    currency: 'EUR',
    token: 'tok_requires_action',
    returnUrl: 'http://localhost/',
    returnOrigins: 'loopback',
    idempotencyKey: 'k',
    needsPrice: false,
    caller: '',
    requestId: 'r',
  });
  const payment = (await findPayment({ engine: store }, paymentId)) as Payment;
  assert.equal(payment.state, 'requires_action');
  const reply = (outcome: ChargeOutcome) => {
    for (const resolve of waits.splice(0)) resolve(outcome);
  };
  return { payment, contexts, clock, asked: () => asked, reply };
}

/** Waits until so many look-ups have begun. */
async function begun({ asked }: Processes, count: number): Promise<void> {
  for (const giveUpAt = Date.now() + givenUpMs; asked() < count; await sleep(5))
    assert.ok(Date.now() < giveUpAt, 'no look-up has begun');
}

test('two processes share one look-up, and the one that waits for the other has its result', async (t) => {
  const processes = await twoProcesses(t);
  const { payment, contexts, reply, asked } = processes;
  const first = refreshAuthentication(contexts[0], payment);
  await begun(processes, 1);
  const others = contexts.map((context) => refreshAuthentication(context, payment));
  // The other process reads the store again until the look-up has ended.
  await sleep(100);
  reply(paid);
  for (const { state, chargeId } of await Promise.all([first, ...others]))
    assert.deepEqual([state, chargeId], ['succeeded', 'ch_1']);
  assert.equal(asked(), 1);
});

test('two processes together look a payment up once a second', async (t) => {
  const processes = await twoProcesses(t);
  const { contexts, clock, asked, reply } = processes;
  let { payment } = processes;
  for (let seconds = 1; seconds <= 3; seconds++) {
    const first = refreshAuthentication(contexts[seconds % 2] as PaymentContext, payment);
    await begun(processes, seconds);
    reply(waiting);
    payment = await first;
    assert.equal(payment.state, 'requires_action');
    // Each process has a pace of its own; the new ones have none yet.
    for (const context of contexts)
      await refreshAuthentication({ ...context, lookUpThrottle: new LookUpThrottle<Payment>() }, payment);
    assert.equal(asked(), seconds);
    clock.aheadMs += authenticationLookUpPauseMs + skewMs;
    for (const context of contexts)
      (context as { lookUpThrottle: unknown }).lookUpThrottle = new LookUpThrottle();
  }
});

test('the look-up of a process that died, or of one whose clock is far ahead, holds up no other', async (t) => {
  const processes = await twoProcesses(t);
  const { payment, contexts, clock, asked, reply } = processes;
  const [dying, other] = contexts;
  const isAhead = { ...dying, now: () => dying.now() + 2 * clockStepMsMax };
  void refreshAuthentication(isAhead, payment);
  await begun(processes, 1);
  void refreshAuthentication(other, payment);
  await begun(processes, 2);
  clock.aheadMs = authenticationLookUpMsMax + 100;
  const last = refreshAuthentication({ ...dying, lookUpThrottle: new LookUpThrottle<Payment>() }, payment);
  await begun(processes, 3);
  reply(paid);
  assert.equal((await last).state, 'succeeded');
  assert.equal(asked(), 3);
});

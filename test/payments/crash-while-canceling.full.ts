import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Payment, paymentsSpace } from '../../src/payments/payment.ts';
import type { Space } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { count } from '../support/extent.ts';
import { challengeSettings as settings } from '../support/payments/challenge.ts';
import { chargeRequest, path } from '../support/payments/stripe-service.ts';
import { between, pick, type Random, randomFrom, seedOf } from '../support/random.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { adminKey, newDataFolder, openStoreOf, unlimited } from '../support/service.ts';
import { deliveryOf, eventOf, post, webhookSecret } from '../support/stripe/events.ts';
import { type StripeProcess, startStripeProcess } from '../support/stripe/process.ts';
import { tryToPost, tryToSend } from '../support/try-to-send.ts';

const kills = count({ short: 8, long: 520 });
/** Services on one store; one of them is killed and started again while the others work. */
const services = count({ short: 2, long: 4 });
/** Some services live long enough to take over the charges of a dead one, which takes five seconds. */
const lifeMsMax = count({ short: 4_000, long: 9_000 });
const callers = 6;
/** Then Stripe has recorded or rejected every request of the drill. */
const silentMs = 120_000;
const clock = join(import.meta.dirname, '../support/secrets/clock-set-forward.ts');

const returnUrl = 'https://shop.example/paid';
const tokens = [
  'paid',
  'error_before_charging',
  'error_after_charging',
  'reset_before_charging_then_429',
  'reset_after_charging_then_429',
  'dropped_after_charging',
];
/** With a `return_url`, their intents can still succeed. */
const returning = [
  'insufficient_funds',
  'declined_and_dropped',
  'declined_and_cut',
  'requires_action',
  'requires_action_and_dropped',
];
const fences = ['work', 'fail', 'fail after', 'gateway', 'dropped'] as const;

test('kills while charges are canceled: no key is charged twice, every hold ends, and the records are the processor’s', async (t) => {
  const seed = seedOf(t);
  const random = randomFrom(seed);
  const drill = await Drill.start(t, random);
  await drill.kill(kills);
  await drill.end();
  await drill.check();
});

class Drill {
  readonly #t: TestContext;
  readonly #random: Random;
  readonly #stripe: StripeProcess;
  readonly #data: string;
  readonly #headers: Record<string, string>;
  readonly #env: Record<string, string>;
  /** Undefined while it is started again. */
  #running: (ServeProcess | undefined)[] = [];
  #isOver = false;
  #orders = 0;

  private constructor(
    t: TestContext,
    random: Random,
    stripe: StripeProcess,
    data: string,
    headers: Record<string, string>,
  ) {
    this.#t = t;
    this.#random = random;
    this.#stripe = stripe;
    this.#data = data;
    this.#headers = headers;
    const processor = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
    this.#env = {
      ...processor,
      ...unlimited(processor),
      COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: webhookSecret,
      COUNTERFOIL_CHARGE_RETRY_SECONDS: '2',
    };
  }

  static async start(t: TestContext, random: Random): Promise<Drill> {
    const stripe = await startStripeProcess(t, newDataFolder(t));
    const data = newData(t);
    const drill = new Drill(t, random, stripe, data, { authorization: `Bearer ${await adminKey(data)}` });
    drill.#running = await Promise.all(Array.from({ length: services }, () => drill.#serve()));
    return drill;
  }

  #serve(env: Readonly<Record<string, string>> = {}): Promise<ServeProcess> {
    return ServeProcess.start(this.#t, { data: this.#data, settings, env: { ...this.#env, ...env } });
  }

  /** Kills services one after the other while callers charge, cancel and authenticate, and Stripe fails. */
  async kill(times: number): Promise<void> {
    const calls = Array.from({ length: callers }, () => this.#trade());
    const troubles = this.#trouble();
    let done = 0;
    const killOne = async (index: number) => {
      while (done < times) {
        await sleep(between(this.#random, 0, lifeMsMax));
        done++;
        const killed = this.#running[index];
        this.#running[index] = undefined;
        await killed?.kill();
        this.#running[index] = await this.#serve();
      }
    };
    await Promise.all(this.#running.map((_, index) => killOne(index)));
    this.#isOver = true;
    await Promise.all([...calls, troubles]);
    this.#t.diagnostic(`${done} kills of ${services} processes, ${this.#orders} orders`);
  }

  async #trade(): Promise<void> {
    const random = this.#random;
    while (!this.#isOver) {
      const number = ++this.#orders;
      const isReturning = random() < 0.5;
      const body = {
        ...chargeRequest,
        token: `tok_${pick(random, isReturning ? returning : tokens)}`,
        metadata: { seat: `S-${number}` },
        ...(isReturning ? { return_url: returnUrl } : {}),
      };
      const key = { 'idempotency-key': `order-${number}` };
      const sent = await tryToPost((await this.#origin()) + path, body, { ...this.#headers, ...key });
      const at = sent?.headers.get('location') ?? undefined;
      if (random() < 0.5) await this.#decide(`S-${number}`);
      if (at !== undefined && random() < 0.4)
        await Promise.all([this.#cancel(at), random() < 0.5 ? this.#cancel(at) : undefined]);
      await sleep(between(random, 0, 200));
    }
  }

  async #origin(): Promise<string> {
    for (;;) {
      const alive = this.#running.filter((service) => service !== undefined);
      if (alive.length > 0) return pick(this.#random, alive).ready();
      await sleep(50);
    }
  }

  async #cancel(at: string): Promise<void> {
    await tryToPost(`${await this.#origin()}${at}/cancel`, {}, this.#headers);
  }

  /** The bank decides about a cardholder, perhaps twice, and Stripe sends the event, perhaps late or never. */
  async #decide(seat: string): Promise<void> {
    const intentOf = async () =>
      (await this.#stripe.records()).intents.find(({ metadata }) => metadata.seat === seat);
    const intent = await intentOf();
    if (intent?.status !== 'requires_action' && intent?.status !== 'requires_payment_method') return;
    const isCardholder = this.#random() < 0.4;
    await this.#stripe.command({ authenticate: { id: intent.id, isCardholder } }).catch(() => undefined);
    const now = await intentOf();
    if (now === undefined || this.#random() < 0.3) return;
    const type = now.status === 'succeeded' ? 'succeeded' : 'payment_failed';
    if (now.status === 'succeeded' || now.status === 'requires_payment_method')
      await post(
        `${await this.#origin()}/stage/events/stripe`,
        deliveryOf(eventOf(`payment_intent.${type}`, now)),
      ).catch(() => undefined);
  }

  async #trouble(): Promise<void> {
    while (!this.#isOver) {
      await this.#stripe.command({
        set: { fences: pick(this.#random, fences), failsCancels: this.#random() < 0.3 },
      });
      await sleep(between(this.#random, 200, 1_500));
    }
  }

  /** Stripe is well again, and two minutes later nothing is under way. */
  async end(): Promise<void> {
    for (const service of this.#running) await service?.kill();
    await this.#stripe.command({ set: { fences: 'work', failsCancels: false }, repair: true });
    const later = { NODE_OPTIONS: `--import ${clock}`, LATER_MS: String(silentMs) };
    const last = await Promise.all([this.#serve(later), this.#serve(later)]);
    const origin = await (last[0] as ServeProcess).ready();
    const open = async (): Promise<string[]> => {
      const found: string[] = [];
      for (let after = ''; ; ) {
        const page = await tryToSend(`${origin}${path}?limit=100${after}`, { headers: this.#headers });
        const { body, next } = JSON.parse(page?.text ?? '{"body":[]}');
        for (const { id, status } of body) {
          if (status === 'requires_action')
            await tryToPost(`${origin}${path}/${id}/cancel`, {}, this.#headers);
          if (status !== 'succeeded' && status !== 'declined') found.push(`${id} is ${status}`);
        }
        if (next === undefined) return found;
        after = `&after=${next}`;
      }
    };
    const startedAt = performance.now();
    for (let left = await open(); left.length > 0; left = await open()) {
      assert.ok(performance.now() - startedAt < 3 * givenUpMs, left.slice(0, 10).join('\n'));
      await sleep(500);
    }
    this.#t.diagnostic(`all known after ${Math.round(performance.now() - startedAt)} ms`);
    for (const service of last) await service.terminate();
  }

  async check(): Promise<void> {
    await this.#sendAllAgain();
    const { charges, intents } = await this.#stripe.records();
    const paid = charges.filter(({ status }) => status === 'succeeded');
    const store = await openStoreOf(this.#data);
    this.#t.after(() => store.close());
    const read = async (space: Space) => {
      const found = new Map<string, string>();
      for await (const { id, name } of itemsOf((await store.scan(space))?.chunks ?? [])) found.set(id, name);
      return found;
    };
    const payments = [...(await read(paymentsSpace)).values()].map((text) => JSON.parse(text) as Payment);
    assert.deepEqual(await read('service:awaited-items'), new Map(), 'no item is held');
    assert.deepEqual(await read('service:open-payments'), new Map(), 'nothing is open');
    const facts = (id: string | undefined, chargeId: string | undefined) => `${id} ${chargeId}`;
    assert.deepEqual(
      payments
        .filter(({ state }) => state === 'succeeded')
        .map(({ id, chargeId }) => facts(id, chargeId))
        .sort(),
      paid.map(({ metadata, id }) => facts(metadata.counterfoil_payment_id, id)).sort(),
      'the records are those of the processor',
    );
    const seats = paid.map(({ metadata }) => metadata.seat);
    assert.equal(new Set(seats).size, seats.length, 'no order is charged twice');
    assert.deepEqual([...(await read('table:seats')).keys()].sort(), seats.sort());
    const declined = new Set(
      payments
        .filter(({ state, returnUrl: at }) => state === 'declined' && at !== undefined)
        .map(({ id }) => id),
    );
    const open = intents.filter(
      ({ metadata, status }) => declined.has(metadata.counterfoil_payment_id ?? '') && status !== 'canceled',
    );
    assert.deepEqual(open, [], 'no declined payment can still succeed');
    this.#t.diagnostic(`${payments.length} payments, ${paid.length} charged`);
  }

  /** Every request for a charge that a gateway may have held back arrives once more. */
  async #sendAllAgain(): Promise<void> {
    const requests = await this.#stripe.requests();
    for (const { path: asked, method, fields, headers } of requests) {
      if (method !== 'POST' || asked !== '/v1/payment_intents' || fields.confirm !== 'true') continue;
      const names = ['authorization', 'content-type', 'stripe-version', 'idempotency-key'];
      const sent = await fetch(this.#stripe.origin + asked, {
        method,
        headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])),
        body: new URLSearchParams(fields),
      });
      await sent.arrayBuffer();
    }
  }
}

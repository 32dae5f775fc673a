import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  LedgerRefundReply,
  LedgerRefundRequest,
  LedgerReply,
  LedgerRequest,
} from '../../src/processors/simulated/ledger.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { killedAt } from '../support/kill-at.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { settings as usual } from '../support/payments/paying.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { tryToPost } from '../support/try-to-send.ts';

const path = '/stage/payment/simulated/order';
/** A part of the charge, or all of it: then its item is deleted. */
const refundAmounts = { part: 500, whole: 2_000 } as const;
type Refunded = keyof typeof refundAmounts;
const request = { amount: 2_000, currency: 'EUR', token: 'tok_paid', metadata: { order: 'A-7' } };

/** The steps at which a process is killed: before and after each commit and each call of the processor. */
const steps = [
  'before the reservation of the charge is written',
  'when the reservation of the charge is on disk',
  'when the processor is called for the charge',
  'when the processor has charged',
  'before the outcome of the charge is written',
  'when the outcome of the charge is on disk',
  'before the reservation of the refund is written',
  'when the reservation of the refund is on disk',
  'when the processor is called for the refund',
  'when the processor has refunded',
  'before the outcome of the refund is written',
  'when the outcome of the refund is on disk',
] as const;
type Step = (typeof steps)[number];

const commits: Partial<Record<Step, string>> = {
  'before the reservation of the charge is written': 'before payments 1',
  'when the reservation of the charge is on disk': 'after payments 1',
  'before the outcome of the charge is written': 'before payments 2',
  'when the outcome of the charge is on disk': 'after payments 2',
  'before the reservation of the refund is written': 'before payments 3',
  'when the reservation of the refund is on disk': 'after payments 3',
  'before the outcome of the refund is written': 'before payments 4',
  'when the outcome of the refund is on disk': 'after payments 4',
};

/** A ledger that kills its caller, once. */
class DeadlyLedger extends MemoryLedger {
  readonly #at: Step;
  kill: (() => Promise<unknown>) | undefined;

  constructor(at: Step) {
    super();
    this.#at = at;
  }

  override async charge(request: LedgerRequest): Promise<LedgerReply> {
    await this.#reach('when the processor is called for the charge');
    const reply = await super.charge(request);
    await this.#reach('when the processor has charged');
    return reply;
  }

  override async refund(request: LedgerRefundRequest): Promise<LedgerRefundReply> {
    await this.#reach('when the processor is called for the refund');
    const reply = await super.refund(request);
    await this.#reach('when the processor has refunded');
    return reply;
  }

  async #reach(step: Step): Promise<void> {
    const { kill } = this;
    if (step !== this.#at || kill === undefined) return;
    this.kill = undefined;
    await kill();
  }
}

const settings = {
  payments: {
    routes: { order: { on_success: { ...usual.payments.routes.order.on_success, on_refund: 'delete' } } },
  },
};

describe('a process that is killed', { concurrency: 4 }, () => {
  // Until its outcome is written, a refund of the whole charge takes the same steps.
  for (const step of steps.filter((each) => !each.includes('refund') || each.includes('outcome'))) {
    test(`${step}: one charge, one refund, one item, and the caller receives them`, async (t) =>
      killAt(t, step, 'part'));
  }
  for (const step of steps.filter((each) => each.includes('refund'))) {
    test(`${step}: a refund of the whole charge, no item, and the next buyer buys it`, async (t) =>
      killAt(t, step, 'whole'));
  }
});

async function killAt(t: TestContext, step: Step, refunded: Refunded): Promise<void> {
  const ledger = new DeadlyLedger(step);
  const { origin } = await startLedger(t, ledger);
  const data = newData(t);
  const env = { COUNTERFOIL_SIMULATED_LEDGER: origin };
  const commit = commits[step];
  const hooked = commit === undefined ? {} : killedAt(commit);
  const first = await ServeProcess.start(t, { data, settings, simulate: true, env: { ...env, ...hooked } });
  ledger.kill = () => first.kill();
  const paid = await pay(await first.ready());
  if (paid?.status === 200) await refund(await first.ready(), paid.headers.get('location'), refunded);
  await first.kill();

  const second = await ServeProcess.start(t, { data, settings, simulate: true, env });
  const at = await second.ready();
  const response = await untilSettled(() => pay(at));
  assert.equal(response.status, 200, response.text);
  const location = response.headers.get('location');
  const settled = await untilSettled(() => refund(at, location, refunded));
  assert.equal(settled.status, 200, settled.text);
  assert.equal((await pay(at))?.text, response.text);
  assert.equal((await refund(at, location, refunded))?.text, settled.text);
  if (paid?.status === 200) assert.equal(response.text, paid.text, 'the response stays the same');

  const [charge, ...charges] = ledger.charges;
  assert.deepEqual([ledger.refunds.length, charges.length], [1, 0]);
  assert.ok(response.text.includes(`"charge_id":"${charge?.chargeId}"`));
  const isDeleted = refunded === 'whole';
  const { item } = (await bodyOf(`${at}${location}`)) as { item: { status: string } };
  assert.equal(item.status, isDeleted ? 'deleted' : 'made');
  const items = isDeleted ? [] : [{ id: 'A-7', name: charge?.chargeId }];
  assert.deepEqual(await bodyOf(`${at}/v3/table/paid/read`), items);
  const next = await tryToPost(at + path, request);
  assert.equal(next?.status, isDeleted ? 200 : 409);
}

async function bodyOf(url: string): Promise<unknown> {
  return ((await (await fetch(url)).json()) as { body: unknown }).body;
}

function pay(origin: string) {
  return tryToPost(origin + path, request, { 'idempotency-key': 'order-7' });
}

function refund(origin: string, location: string | null, refunded: Refunded) {
  const body = { amount: refundAmounts[refunded] };
  return tryToPost(`${origin}${location}/refund`, body, { 'idempotency-key': 'refund-1' });
}

/** 503: the service sheds load on a busy machine, and did nothing. */
const unsettled: ReadonlySet<number> = new Set([409, 503, 504]);

async function untilSettled(send: () => ReturnType<typeof tryToPost>) {
  const giveUpAt = Date.now() + givenUpMs;
  for (;;) {
    const response = await send();
    assert.ok(response !== undefined && Date.now() < giveUpAt, `no final response: ${response?.text}`);
    if (!unsettled.has(response.status)) return response;
    await sleep(50);
  }
}

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { runCommand } from '../support/command.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';
const charge = { amount: 2_000, currency: 'EUR', token: 'tok_paid' };

/** A running service, and the command on the same data folder. */
async function start(t: TestContext) {
  const ledger = new MemoryLedger();
  const { origin } = await startLedger(t, ledger);
  const service = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: origin } });
  const env = { COUNTERFOIL_DATA: service.data, COUNTERFOIL_SIMULATED_LEDGER: origin };
  const pay = async (fields: object = {}) => {
    const response = await service.post(path, { ...charge, ...fields });
    return response.headers.get('payment-id') ?? '';
  };
  const payments = (...args: string[]) => runCommand(['payments', ...args], env);
  return { ledger, service, pay, payments };
}

test('payments list: prints a table, or one JSON object a line, and takes filters', async (t) => {
  const { pay, payments } = await start(t);
  const paid = await pay();
  const declined = await pay({ token: 'tok_lost_card', currency: 'JPY' });
  const all = await payments('list');
  assert.equal(all.status, 0, all.errors);
  const lines = all.output.trim().split('\n');
  assert.equal(lines.length, 3);
  assert.match(lines[0] ?? '', /^PAYMENT +CREATED +ROUTE +STATUS +AMOUNT +CHARGE$/);
  assert.match(
    lines[1] ?? '',
    new RegExp(`^${paid} .*simulated/charge .*succeeded .* 20\\.00 EUR  ch_simulated_`),
  );
  assert.match(lines[2] ?? '', new RegExp(`^${declined} .* declined .* 2000 JPY  –$`));
  const some = await payments('list', '--status', 'declined', '--json');
  assert.deepEqual(
    some.output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
    [declined],
  );
  assert.equal((await payments('list', '--processor', 'stripe')).output, '');
  assert.equal((await payments('list', '--since', '2999-01-01')).output, '');
  const first = await payments('list', '--limit', '1');
  assert.equal(first.output.trim().split('\n').length, 2);
  assert.match(first.errors, /There are more: --since 20/);
});

test('payments show: prints every field of a payment', async (t) => {
  const { service, pay, payments } = await start(t);
  const id = await pay({ metadata: { order: 'A-7' } });
  const fields = await payments('show', id);
  assert.equal(fields.status, 0, fields.errors);
  assert.match(fields.output, new RegExp(`^payment +${id}\nstatus +succeeded\n(.*\n)*amount +20\\.00 EUR\n`));
  assert.match(fields.output, /^metadata order +A-7$/m);
  const shown = await payments('show', id, '--json');
  assert.equal(shown.status, 0, shown.errors);
  assert.deepEqual(JSON.parse(shown.output), (await service.get(`${path}/${id}`)).json.body);
  const none = await payments('show', `pay_${'0'.repeat(32)}`);
  assert.deepEqual([none.status, none.errors], [2, 'counterfoil: There is no payment with this id.\n']);
});

test('payments refund: refunds once per key, and reports why it cannot', async (t) => {
  const { ledger, service, pay, payments } = await start(t);
  const id = await pay();
  for (const _again of [1, 2]) {
    const refund = await payments('refund', id, '--amount', '500', '--key', 'r1', '--json');
    assert.equal(refund.status, 0, refund.errors);
    assert.equal(JSON.parse(refund.output).amount, 500);
  }
  assert.equal(
    (await service.get(`${path}/${id}`)).json.body.amount_refunded,
    500,
    'the running service reads it immediately',
  );
  const tooMuch = await payments('refund', id, '--amount', '1501');
  assert.equal(tooMuch.status, 2);
  assert.match(tooMuch.errors, /At most 1500/);
  assert.match((await payments('refund', id)).output, /^Refund \S+ of 15\.00 EUR for pay_\w+: succeeded\n$/);
  assert.deepEqual(
    ledger.refunds.map(({ amount }) => amount),
    [500, 1_500],
  );
  const rejected = await payments('refund', await pay({ token: 'tok_refund_rejected' }));
  assert.deepEqual([rejected.status, rejected.output], [1, '']);
  assert.match(rejected.errors, /^counterfoil: .*rejected/);
});

test('payments reconcile: reports no difference when both sides agree, and every one when they do not', async (t) => {
  const { ledger, service, pay, payments } = await start(t);
  const agreed = await pay();
  await pay({ token: 'tok_lost_card' });
  await service.post(`${path}/${agreed}/refund`, { amount: 500 });
  const agreeing = await payments('reconcile', 'simulated');
  assert.deepEqual([agreeing.status, agreeing.errors], [0, '']);
  assert.match(agreeing.output, /^2 payments here, 1 charges there .*: no difference\n$/);

  const [lost, cheaper, twice, refunded] = [await pay(), await pay(), await pay(), await pay()];
  const chargeOf = (id: string | undefined) => ledger.charges.findIndex(({ paymentId }) => paymentId === id);
  ledger.charges.splice(chargeOf(lost), 1);
  const cheap = ledger.charges[chargeOf(cheaper)];
  ledger.charges[chargeOf(cheaper)] = { ...cheap, amount: 20 } as (typeof ledger.charges)[number];
  ledger.charges.push({
    ...(ledger.charges[chargeOf(twice)] as (typeof ledger.charges)[number]),
    chargeId: 'ch_second',
  });
  const { chargeId } = ledger.charges[chargeOf(refunded)] as { chargeId: string };
  ledger.refunds.push({
    key: 'k',
    refundId: 'r',
    chargeId,
    amount: 7,
    ledgerRefundId: 're_by_hand',
    isPending: false,
  });
  const stranger = `pay_${'0'.repeat(32)}`;
  ledger.charges.push({
    ...charge,
    key: 'k',
    paymentId: stranger,
    chargeId: 'ch_stranger',
    madeAt: Date.now(),
  });

  const differing = await payments('reconcile', 'simulated');
  assert.equal(differing.status, 1);
  for (const line of [
    `${lost} \\(ch_\\S+\\) has succeeded but is not in the`,
    `${cheaper} \\(ch_\\S+\\) has amount 2000 here and 20 in the`,
    `${twice} \\(ch_second\\) is a second charge of one payment`,
    `${twice} \\(ch_second\\) has charge id`,
    `${refunded} \\(ch_\\S+\\) has refunded 0 here and 7 in the`,
    `${stranger} \\(ch_stranger\\) is in the processor’s records but not among our payments`,
    '6 differences\n$',
  ]) {
    assert.match(differing.output, new RegExp(line));
  }
});

test('payments list: creates no store when there is none', async (t) => {
  const data = newDataFolder(t);
  const ended = await runCommand(['payments', 'list'], { COUNTERFOIL_DATA: data });
  assert.equal(ended.status, 2);
  assert.match(ended.errors, /there is no store at/);
  assert.ok(!existsSync(data) && !existsSync(`${data}.key`));
});

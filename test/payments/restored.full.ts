import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { adminKey, unlimited } from '../support/service.ts';
import { startStripeProcess } from '../support/stripe/process.ts';
import { tryToPost } from '../support/try-to-send.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };
const path = '/stage/payment/simulated/charge';
const request = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };

test(
  'a restored service charges and refunds nothing until it is reconciled, and then nothing twice',
  onLmdb,
  async (t) => {
    const { data, target, restored, run } = prepare(t);
    const service = await ServeProcess.start(t, { data, simulate: true });
    const before = await pay(service, 'before');
    assert.equal((await run(data, 'backup', target)).status, 0);
    const after = await pay(service, 'after');
    assert.equal(await refund(service, before.id, 300), 200);
    await service.kill();

    copyFileSync(`${data}.key`, `${restored}.key`);
    const put = await run(restored, 'restore', target, '--json');
    assert.equal(put.status, 0, put.errors);
    copyFileSync(ledgerOf(data), ledgerOf(restored));
    const charged = ledgerLines(restored);

    const second = await ServeProcess.start(t, { data: restored, simulate: true });
    for (const key of ['before', 'after', 'new']) {
      const reply = await send(second, key);
      assert.equal(reply?.status, 503);
      assert.equal(JSON.parse(reply.text).body.error.code, 'reconcile_required');
    }
    assert.equal(await refund(second, before.id, 300), 503);
    const ready = await fetch(`${await second.ready()}/readyz`);
    assert.equal(ready.status, 200, 'tables are served');
    assert.deepEqual(JSON.parse(await ready.text()).body, { status: 'ready', shut: ['payments'] });
    assert.match((await run(restored, 'doctor')).output, /problem payments: shut/);
    assert.deepEqual(ledgerLines(restored), charged, 'nothing was requested');

    const adopted = await run(restored, 'payments', 'reconcile', '--adopt', '--json');
    assert.equal(adopted.status, 0, adopted.errors);
    assert.deepEqual(
      JSON.parse(adopted.output).adopted.map(({ payment_id, what, amount }: Record<string, unknown>) => [
        payment_id,
        what,
        amount,
      ]),
      [
        [before.id, 'refund', 300],
        [after.id, 'payment with its key', 1_050],
      ],
    );
    assert.equal((await fetch(`${await second.ready()}/readyz`)).status, 200);
    const again = await pay(second, 'after');
    assert.deepEqual(again, after, 'the same response as before the loss');
    assert.deepEqual(ledgerLines(restored), charged, 'a repeated request charges nothing');
    const reused = await send(second, 'after', { ...request, amount: 2_000 });
    assert.equal(reused?.status, 422);
    assert.equal(await refund(second, before.id, 800), 400, 'the adopted refund counts');
    assert.notEqual((await pay(second, 'new')).id, after.id);
    assert.equal((await run(restored, 'payments', 'reconcile', 'simulated')).status, 0);
    await second.kill();
  },
);

test('recovery requests no charge while payments are shut', onLmdb, async (t) => {
  const { data, target, restored, run } = prepare(t);
  const service = await ServeProcess.start(t, { data, simulate: true });
  const lost = await send(service, 'lost', { ...request, token: 'tok_lost_reply' });
  assert.equal(lost?.status, 504);
  assert.equal((await run(data, 'backup', target)).status, 0);
  await service.kill();
  copyFileSync(`${data}.key`, `${restored}.key`);
  assert.equal((await run(restored, 'restore', target)).status, 0);
  // Empty books: a request for the charge would appear in them.
  writeFileSync(ledgerOf(restored), '');
  const second = await ServeProcess.start(t, { data: restored, simulate: true });
  await new Promise((resolve) => setTimeout(resolve, recoveryRoundsMs));
  assert.deepEqual(ledgerLines(restored), []);
  await second.kill();
});

test('a key that was freed and used again after the backup charges nothing more', onLmdb, async (t) => {
  const { data, target, restored, run } = prepare(t);
  const slow = { ...request, token: 'tok_lost_reply' };
  let [firstId, key] = ['', ''];
  // Killed before recovery finds out how the payment has ended, which a busy machine may give it the time to do.
  for (let attempt = 0, status = ''; status !== 'in_doubt'; attempt++) {
    assert.ok(attempt < 10, `the payment is ${status}`);
    key = `again-${attempt}`;
    const service = await ServeProcess.start(t, { data, simulate: true });
    const first = await send(service, key, slow);
    assert.equal(first?.status, 504);
    await service.kill();
    firstId = first?.headers.get('payment-id') ?? '';
    const shown = await run(data, 'payments', 'show', firstId, '--json');
    ({ status } = JSON.parse(shown.output));
  }
  assert.equal((await run(data, 'backup', target)).status, 0);
  copyFileSync(`${data}.key`, `${restored}.key`);
  assert.equal((await run(restored, 'restore', target)).status, 0);
  // As if the first payment had turned out to be not attempted, and the repeated request had been charged as another one.
  const laterId = `${firstId.slice(0, -1)}${firstId.endsWith('0') ? '1' : '0'}`;
  writeFileSync(ledgerOf(restored), readFileSync(ledgerOf(data), 'utf8').replaceAll(firstId, laterId));
  const charged = ledgerLines(restored);
  const adopted = await run(restored, 'payments', 'reconcile', '--adopt', '--json');
  assert.equal(adopted.status, 0, adopted.errors);

  const second = await ServeProcess.start(t, { data: restored, simulate: true });
  await new Promise((resolve) => setTimeout(resolve, recoveryRoundsMs));
  assert.deepEqual(ledgerLines(restored), charged, 'recovery does not charge the first payment');
  const again = await send(second, key, slow);
  assert.deepEqual([again?.status, again?.headers.get('payment-id')], [200, laterId]);
  await second.kill();
});

/** Longer than the first retry of a charge in doubt, which would come within this time if payments were open. */
const recoveryRoundsMs = 4_000;

test('a damaged backup, a folder that is not empty, and no backup are rejected', onLmdb, async (t) => {
  const { data, target, restored, run } = prepare(t);
  const service = await ServeProcess.start(t, { data });
  await service.kill();
  const made = JSON.parse((await run(data, 'backup', target, '--json')).output);
  assert.equal((await run(data, 'restore', target)).status, 2);
  assert.equal((await run(restored, 'restore', `${target}/none`)).status, 2);
  const file = join(target, made.file);
  const bytes = readFileSync(file);
  const damaged = Buffer.from(bytes);
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  writeFileSync(file, damaged);
  const rejected = await run(restored, 'restore', target);
  assert.equal(rejected.status, 1);
  assert.match(rejected.errors, /checksum/);
  assert.deepEqual(readdirSync(restored), [], 'no part of a store is left');
  writeFileSync(file, bytes);
  assert.equal((await run(restored, 'restore', `${target}/${made.name}`)).status, 0);
});

test(
  'payments stay shut if the records do not hold the keys of the charges, until an operator accepts that',
  onLmdb,
  async (t) => {
    const { data, target, restored, run } = prepare(t);
    const service = await ServeProcess.start(t, { data, simulate: true });
    await pay(service, 'before');
    assert.equal((await run(data, 'backup', target)).status, 0);
    await pay(service, 'after');
    await service.kill();
    copyFileSync(`${data}.key`, `${restored}.key`);
    assert.equal((await run(restored, 'restore', target)).status, 0);
    // As at Stripe and Square: the processor keeps the payment's id only.
    const lines = readFileSync(ledgerOf(data), 'utf8').replaceAll(/,"request":\{[^}]*\}/g, '');
    writeFileSync(ledgerOf(restored), lines);
    for (let attempt = 0; attempt < 2; attempt++) {
      const adopted = await run(restored, 'payments', 'reconcile', '--adopt');
      assert.equal(adopted.status, 1, adopted.output);
      assert.match(adopted.errors, /1 adopted payments have no idempotency key/);
    }
    const again = await ServeProcess.start(t, { data: restored, simulate: true });
    assert.equal((await send(again, 'after'))?.status, 503);
    assert.equal(
      (await run(restored, 'payments', 'reconcile', '--adopt', '--accept-unknown-keys')).status,
      0,
    );
    assert.equal((await send(again, 'new'))?.status, 200);
  },
);

test('Stripe returns the keys of the charges that a restored store lacks', onLmdb, async (t) => {
  const { data, target, restored } = prepare(t);
  const stripe = await startStripeProcess(t);
  const processor = { COUNTERFOIL_STRIPE_KEY: stripe.key, COUNTERFOIL_STRIPE_API_BASE: stripe.origin };
  const env = { ...processor, ...unlimited(processor) };
  const run = (folder: string, ...args: string[]) => runCommand(args, { ...env, COUNTERFOIL_DATA: folder });
  const authorization = `Bearer ${await adminKey(data)}`;
  const charge = async (service: ServeProcess, key: string, token: string) => {
    const headers = { 'idempotency-key': key, authorization };
    const url = `${await service.ready()}/stage/payment/stripe/charge`;
    return tryToPost(url, { ...request, token }, headers);
  };
  const service = await ServeProcess.start(t, { data, env });
  assert.equal((await charge(service, 'before', 'tok_paid'))?.status, 200);
  assert.equal((await run(data, 'backup', target)).status, 0);
  const after = await charge(service, 'after', 'tok_paid');
  assert.equal(after?.status, 200);
  await service.kill();
  copyFileSync(`${data}.key`, `${restored}.key`);
  assert.equal((await run(restored, 'restore', target)).status, 0);
  const second = await ServeProcess.start(t, { data: restored, env });
  assert.equal((await charge(second, 'after', 'tok_paid'))?.status, 503);
  const wrongKeys = {
    account_unread: { COUNTERFOIL_DATA: restored },
    account_unknown: { ...env, COUNTERFOIL_DATA: restored, COUNTERFOIL_STRIPE_KEY: 'sk_live_scripted' },
  };
  for (const [code, wrong] of Object.entries(wrongKeys)) {
    const key = code === 'account_unknown' ? 'sk_live_scripted' : stripe.key;
    await stripe.command({ set: { key } });
    const refused = await runCommand(['payments', 'reconcile', '--adopt', '--json'], wrong);
    assert.deepEqual([refused.status, JSON.parse(refused.errors).error.code], [1, code], refused.output);
    assert.equal(JSON.parse(refused.output).are_open, false);
  }
  await stripe.command({ set: { key: stripe.key } });
  assert.equal((await charge(second, 'after', 'tok_paid'))?.status, 503, 'payments are still shut');
  const [made] = JSON.parse((await run(restored, 'backup', `${target}-restored`, '--json')).output).accounts;
  assert.deepEqual(made, { processor: 'stripe', account: 'acct_scripted', mode: 'test' });
  const adopted = await run(restored, 'payments', 'reconcile', '--adopt');
  assert.equal(adopted.status, 0, adopted.errors);
  assert.match(adopted.output, /adopted: payment with its key/);
  const charged = (await stripe.records()).charges.length;
  const again = await charge(second, 'after', 'tok_paid');
  assert.deepEqual([again?.status, again?.text], [200, after.text]);
  assert.equal((await stripe.records()).charges.length, charged, 'a repeated request charges nothing');
  await second.kill();
});

test('payments stay shut if the records of a processor with payments cannot be read', onLmdb, async (t) => {
  const { data, target, restored, run } = prepare(t);
  const service = await ServeProcess.start(t, { data, simulate: true });
  await pay(service, 'one');
  await service.kill();
  assert.equal((await run(data, 'backup', target)).status, 0);
  copyFileSync(`${data}.key`, `${restored}.key`);
  assert.equal((await run(restored, 'restore', target)).status, 0);
  const adopted = await run(restored, 'payments', 'reconcile', '--adopt');
  assert.equal(adopted.status, 1, adopted.output);
  assert.match(adopted.errors, /payments stay shut/);
  assert.match((await run(restored, 'doctor')).output, /problem payments: shut/);
});

function prepare(t: TestContext) {
  const data = newData(t);
  const run = (folder: string, ...args: string[]) => runCommand(args, { COUNTERFOIL_DATA: folder });
  return { data, target: `${data}-backups`, restored: `${data}-restored`, run };
}

function ledgerOf(data: string): string {
  return `${data}/simulated-ledger.jsonl`;
}

function ledgerLines(data: string): string[] {
  const lines = readFileSync(ledgerOf(data), 'utf8').split('\n').filter(Boolean);
  return lines.filter((line) => !line.includes('"kind":"ledger"'));
}

async function send(service: ServeProcess, key: string, body = request) {
  return tryToPost((await service.ready()) + path, body, { 'idempotency-key': key });
}

async function pay(service: ServeProcess, key: string) {
  const reply = await send(service, key);
  assert.equal(reply?.status, 200, `${reply?.text}`);
  return { id: reply?.headers.get('payment-id') ?? '', text: reply?.text };
}

async function refund(service: ServeProcess, id: string, amount: number): Promise<number | undefined> {
  return (await tryToPost(`${await service.ready()}${path}/${id}/refund`, { amount }))?.status;
}

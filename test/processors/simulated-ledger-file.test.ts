import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FileLedger, ledgerChunkBytes } from '../../src/processors/simulated/file-ledger.ts';
import type { LedgerRefundReply, LedgerRequest } from '../../src/processors/simulated/ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import { chargeOf } from '../contracts/processor.ts';
import { newDataFolder } from '../support/service.ts';

test('a ledger that is opened again has every charge, refund and key', async (t) => {
  const { file, open } = fileOf(t);
  const before = open();
  const paid = await before.charge(requestOf('a', 'tok_paid'));
  const declined = await before.charge(requestOf('b', 'tok_lost_card'));
  const unknown = await before.charge(requestOf('c', 'tok_of_another_shop'));
  const canceled = await before.cancel('d');
  assert.equal(paid.kind, 'paid');
  const refund = { key: 'r', refundId: 'ref_1', chargeId: chargeIdOf(paid), amount: 30 };
  const refunded = await before.refund(refund);
  assert.equal(refunded.kind, 'refunded');
  const pending = await before.charge(requestOf('e', 'tok_refund_pending'));

  const after = open();
  assert.deepEqual(await after.charge(requestOf('a', 'tok_paid')), paid);
  assert.deepEqual(await after.charge(requestOf('b', 'tok_lost_card')), declined);
  assert.deepEqual(await after.charge(requestOf('c', 'tok_of_another_shop')), unknown);
  assert.deepEqual(await after.charge(requestOf('d', 'tok_paid')), { kind: 'error' }, 'its key is blocked');
  assert.deepEqual(await after.cancel('d'), canceled);
  assert.deepEqual(await after.refund(refund), refunded);
  assert.deepEqual(await after.refund({ ...refund, key: 's', amount: 71 }), { kind: 'too_much' });
  assert.equal(
    (await after.refund({ key: 'p', refundId: 'ref_2', chargeId: chargeIdOf(pending), amount: 1 })).kind,
    'pending',
  );
  assert.equal((await after.findCharge('pay_a'))?.chargeId, chargeIdOf(paid));
  assert.equal((await after.findChargeById(chargeIdOf(paid)))?.paymentId, 'pay_a');
  assert.equal((await after.findRefund('ref_1'))?.amount, 30);
  assert.deepEqual([after.charges.length, after.refunds.length], [2, 2]);
  assert.doesNotMatch(readFileSync(file, 'utf8'), /tok_/, 'no token is in the file');
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('several ledgers on one file charge a key once, and refund no more than the charge', async (t) => {
  const { open } = fileOf(t);
  const ledgers = [open(), open(), open()];
  for (let round = 0; round < 50; round++) {
    const key = `key-${round}`;
    const replies = await Promise.all(ledgers.map((ledger) => ledger.charge(requestOf(key, 'tok_paid'))));
    assert.equal(new Set(replies.map(chargeIdOf)).size, 1);
    const chargeId = chargeIdOf(replies[0]);
    const refunds = await Promise.all(
      ledgers.map((ledger, n) =>
        ledger.refund({ key: `${key}-${n}`, refundId: `ref_${key}-${n}`, chargeId, amount: 40 }),
      ),
    );
    assert.deepEqual(kindsOf(refunds), ['refunded', 'refunded', 'too_much']);
  }
  for (const ledger of ledgers) {
    const { charges, refunds } = await ledger.records();
    assert.deepEqual([charges.length, refunds.length], [50, 100]);
  }
});

test('a charge and its cancellation in two processes have one outcome', async (t) => {
  const { open } = fileOf(t);
  const [charging, canceling] = [open(), open()];
  const outcomes = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const key = `key-${round}`;
    const calls = [
      async () => (await charging.charge(requestOf(key, 'tok_paid'))).kind,
      async () => (await canceling.cancel(key)).kind,
    ];
    // The first to call is the first to record.
    if (round % 2 === 1) calls.reverse();
    const kinds = (await Promise.all(calls.map((call) => call()))).sort().join();
    assert.ok(['paid,paid', 'canceled,error'].includes(kinds), kinds);
    outcomes.add(kinds);
    const isPaid = kinds === 'paid,paid';
    assert.equal((await canceling.findCharge(`pay_${key}`)) !== undefined, isPaid);
  }
  assert.equal(outcomes.size, 2);
});

test('an entry that was cut off anywhere is ignored, and hides no other', async (t) => {
  const { file, open } = fileOf(t);
  const ledger = open();
  const first = await ledger.charge(requestOf('first', 'tok_paid'));
  const { size } = statSync(file);
  await ledger.charge(requestOf('torn', 'tok_paid'));
  const whole = readFileSync(file);
  for (let end = size; end < whole.length; end++) {
    writeFileSync(file, whole.subarray(0, end));
    const [one, another] = [open(), open()];
    assert.equal(await one.findCharge('pay_torn'), undefined, `${end}`);
    const next = await one.charge(requestOf('next', 'tok_paid'));
    assert.equal(chargeIdOf(await another.charge(requestOf('next', 'tok_paid'))), chargeIdOf(next));
    assert.deepEqual(await another.charge(requestOf('first', 'tok_paid')), first);
    // Only its line break was cut off: the charge was made, and a repeated key finds it.
    const isMade = whole.toString('utf8', end) === '\n';
    assert.equal((await another.findCharge('pay_torn')) !== undefined, isMade, `${end}`);
    assert.equal((await another.charge(requestOf('torn', 'tok_paid'))).kind, 'paid');
    const { charges } = await open().records();
    assert.deepEqual(charges.map(({ paymentId }) => paymentId).sort(), ['pay_first', 'pay_next', 'pay_torn']);
  }
});

test('damage of any length hides no later entry', async (t) => {
  const { file, open } = fileOf(t);
  await open().charge(requestOf('first', 'tok_paid'));
  appendFileSync(file, Buffer.alloc(2 * ledgerChunkBytes + 7));
  appendFileSync(file, '\n"text"\nnull\n{"kind":"of another version"}\n');
  await open().charge(requestOf('second', 'tok_paid'));
  const { charges } = await open().records();
  assert.deepEqual(
    charges.map(({ paymentId }) => paymentId),
    ['pay_first', 'pay_second'],
  );
});

test('a ledger of many chunks is read whole, and each line once', async (t) => {
  const { file, open } = fileOf(t);
  const writer = open();
  const count = 4_000;
  const keyOf = (n: number) => `${n}`.padStart(400, '0');
  for (let n = 0; n < count; n++) await writer.charge(requestOf(keyOf(n), 'tok_paid'));
  const { size } = statSync(file);
  assert.ok(size > 2 * ledgerChunkBytes);
  const reader = open();
  const look = (n: number) => reader.findCharge(`pay_${keyOf(n)}`);
  assert.ok((await Promise.all([look(0), look(count - 1), look(count >> 1)])).every(Boolean));
  assert.equal((await reader.records()).charges.length, count);

  writeFileSync(file, Buffer.alloc(size));
  assert.ok(await look(0), 'what was read is in memory');
  await writer.charge(requestOf('new', 'tok_paid'));
  assert.equal((await reader.records()).charges.length, count + 1);
});

test('the outcome is unknown when the ledger cannot be read or written, and nothing is forgotten', async (t) => {
  const { file, open } = fileOf(t);
  const ledger = open();
  const processor = simulatedProcessor(ledger);
  const request = chargeOf('tok_paid');
  assert.equal((await processor.charge(request)).kind, 'succeeded');
  const whole = readFileSync(file);
  const sought = { paymentId: request.paymentId, requestedFrom: 0, requestedUntil: 1, timeoutMs: 1_000 };
  for (const damage of [() => rmSync(file), () => writeFileSync(file, ''), () => truncateSync(file, 1)]) {
    damage();
    assert.equal((await processor.charge(chargeOf('tok_paid'))).kind, 'unknown');
    assert.equal((await processor.findCharge(sought)).kind, 'unknown');
    writeFileSync(file, whole);
  }
  assert.equal((await processor.findCharge(sought)).kind, 'succeeded');
});

test('a folder in which the ledger cannot be created is a problem of the settings', (t) => {
  const { file, open } = fileOf(t);
  mkdirSync(file, { recursive: true });
  assert.throws(open, /data \(COUNTERFOIL_DATA\): .* cannot be written \(EISDIR\)/);
});

function fileOf(t: TestContext) {
  const file = join(newDataFolder(t), 'ledger.jsonl');
  return { file, open: () => FileLedger.open(file) };
}

function requestOf(key: string, token: string): LedgerRequest {
  return { key, paymentId: `pay_${key}`, amount: 100, currency: 'EUR', token };
}

function chargeIdOf(reply: object | undefined): string {
  assert.ok(reply !== undefined && 'chargeId' in reply, JSON.stringify(reply));
  return String(reply.chargeId);
}

function kindsOf(replies: readonly LedgerRefundReply[]): readonly string[] {
  return replies.map(({ kind }) => kind).sort();
}

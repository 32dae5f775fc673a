import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ServiceError } from '../../src/errors.ts';
import { PaymentsLock } from '../../src/payments/payments.ts';
import { Recovery } from '../../src/payments/recovery.ts';
import { refundPayment } from '../../src/payments/refund/create.ts';
import { FileLedger } from '../../src/processors/simulated/file-ledger.ts';
import { simulatedProcessor } from '../../src/processors/simulated/simulated.ts';
import { stripeProcessor } from '../../src/processors/stripe/stripe.ts';
import { adoptAll, ledgerOf, makeWorld, repeatAll } from '../support/payments/adoption-world.ts';
import { buy, openContext, restoreTo, seatsOf } from '../support/payments/restored-store.ts';
import { newDataFolder } from '../support/service.ts';
import { type ScriptedStripe, startScriptedStripe } from '../support/stripe/scripted-stripe.ts';

const onLmdb = { skip: process.env.TEST_STORE === 'dynamodb' ? 'the embedded store only' : false };

test(
  'adoption makes the items of lost charges, deletes those of lost refunds, and lists the rest',
  onLmdb,
  async (t) => {
    const { ids, folder } = await makeWorld(newDataFolder(t));
    const charges = await chargesOf(folder);
    const { engine, context } = openContext(folder, ledgerOf(folder));
    t.after(() => engine.close());
    const adoption = await adoptAll(context);
    assert.equal(adoption.rejection, undefined);
    const sold = { 'A-2': ids.second, 'A-3': ids.third, 'A-7': 'sold by hand' };
    assert.deepEqual(await seatsOf(engine), sold);
    assert.deepEqual(
      adoption.withoutItem.map(({ payment, problem }) => [payment.id, problem]),
      [
        [ids.gone, 'route_gone'],
        [ids.taken, 'item_exists'],
      ],
    );
    assert.deepEqual(
      adoption.attempts.map(({ id, state, declineCode }) => [id, state, declineCode]),
      [[ids.challenged, 'declined', 'canceled']],
    );
    assert.deepEqual(await FileLedger.open(`${folder}.jsonl`).openChallenges(), [], 'nobody can confirm it');
    const repeated = await repeatAll(context);
    for (const [name, [status, id]] of Object.entries(repeated))
      assert.deepEqual([status, id], [200, ids[name]]);
    assert.deepEqual(await chargesOf(folder), charges);
    const again = await adoptAll(context);
    assert.deepEqual([again.adopted, again.withoutItem.length, again.attempts.length], [[], 2, 1]);
    assert.deepEqual(await seatsOf(engine), sold);
  },
);

test('a cardholder who confirms before the cancellation has the item', onLmdb, async (t) => {
  const { ids, folder } = await makeWorld(newDataFolder(t));
  const ledger = FileLedger.open(`${folder}.jsonl`);
  const simulated = simulatedProcessor(ledger);
  const confirmedFirst = {
    ...simulated,
    cancelCharge: async (...given: Parameters<typeof simulated.cancelCharge>) => {
      const [challenge] = await ledger.openChallenges();
      if (challenge !== undefined) await ledger.decide(challenge.challengeId, true);
      return simulated.cancelCharge(...given);
    },
  };
  const { engine, context } = openContext(folder, new Map([['simulated', confirmedFirst]]));
  t.after(() => engine.close());
  const adoption = await adoptAll(context);
  assert.equal(adoption.rejection, undefined);
  assert.equal((await seatsOf(engine))['A-5'], ids.challenged);
  assert.deepEqual(
    adoption.attempts.map(({ state }) => state),
    ['succeeded'],
  );
});

test('two adoptions at once end as one does', onLmdb, async (t) => {
  const { ids, folder } = await makeWorld(newDataFolder(t));
  const stores = [1, 2].map(() => openContext(folder, ledgerOf(folder)));
  t.after(() => Promise.all(stores.map(({ engine }) => engine.close())));
  const both = await Promise.all(stores.map(({ context }) => adoptAll(context)));
  assert.deepEqual(
    both.map(({ rejection }) => rejection),
    [undefined, undefined],
  );
  const [one] = stores;
  assert.ok(one);
  assert.deepEqual(await seatsOf(one.engine), { 'A-2': ids.second, 'A-3': ids.third, 'A-7': 'sold by hand' });
});

test('another ledger, or none, opens nothing', onLmdb, async (t) => {
  const { folder } = await makeWorld(newDataFolder(t));
  const other = openContext(folder, ledgerOf(`${folder}-other`));
  const wrong = await adoptAll(other.context);
  assert.equal(wrong.rejection?.code, 'account_unknown');
  await other.engine.close();
  for (const [options, code] of [
    [{}, 'account_unread'],
    [{ withoutProcessors: true }, 'account_unread'],
    [{ from: Date.now() + 1_000 }, 'period_too_late'],
  ] as const) {
    const none = openContext(folder, new Map());
    assert.equal((await adoptAll(none.context, options)).rejection?.code, code);
    assert.notEqual(await new PaymentsLock(none.engine).shutBy(), undefined);
    await none.engine.close();
  }
});

test(
  'a store without charges opens without records only if the operator says that it takes none',
  onLmdb,
  async (t) => {
    const folder = newDataFolder(t);
    const empty = openContext(folder, new Map());
    await empty.engine.commit([empty.context.itemWrite('books', { id: 'a', name: '' })]);
    await empty.engine.close();
    await restoreTo(`${folder}-restored`, folder);
    const none = openContext(`${folder}-restored`, new Map());
    assert.equal((await adoptAll(none.context)).rejection?.code, 'no_processor');
    assert.equal((await adoptAll(none.context, { withoutProcessors: true })).rejection, undefined);
    await none.engine.close();
    const later = openContext(`${folder}-restored`, ledgerOf(folder));
    t.after(() => later.engine.close());
    await assert.rejects(buy(later.context, { key: 'a', seat: 'A-1' }), isShut);
    assert.equal((await adoptAll(later.context)).rejection, undefined);
    assert.equal((await buy(later.context, { key: 'a', seat: 'A-1' })).status, 200);
  },
);

/** Live and test mode of one account, and another account. */
const keys = {
  right: { account: 'acct_shop', key: 'sk_live_scripted' },
  'test mode': { account: 'acct_shop', key: 'sk_test_scripted' },
  'another account': { account: 'acct_other', key: 'sk_live_other' },
} as const;
type KeyName = keyof typeof keys;

test(
  'payments open only on the records of every account and mode that was charged with',
  onLmdb,
  async (t) => {
    const { stripes, open } = await stripeWorld(t);
    for (const wrong of ['test mode', 'another account'] as const) {
      const { engine, context } = await open(wrong);
      assert.equal((await adoptAll(context)).rejection?.code, 'account_unknown', wrong);
      await assert.rejects(buyLost(context), isShut);
      await engine.close();
    }
    const right = await open('right');
    const adoption = await adoptAll(right.context);
    assert.equal(adoption.rejection, undefined);
    assert.deepEqual(adoption.accounts, ['stripe/acct_shop/live']);
    assert.equal((await buyLost(right.context)).status, 200);
    await right.engine.close();
    // The service now starts with a wrong key: what was not read stays shut, and old charges are left alone.
    for (const wrong of ['test mode', 'another account'] as const) {
      const { engine, context } = await open(wrong);
      await assert.rejects(buy(context, { key: 'new', seat: 'B-1', processor: 'stripe' }), isShut);
      await new Recovery(context).round(new AbortController().signal);
      await context.inFlight.end();
      await engine.close();
      assert.equal(stripes[wrong].charges.length, 0);
    }
    assert.equal(stripes.right.charges.length, 2);
  },
);

test('two accounts are read in two runs, and a newer restore forgets both', onLmdb, async (t) => {
  const { folder, open } = await stripeWorld(t, ['right', 'another account']);
  const one = await open('right');
  const first = await adoptAll(one.context);
  assert.equal(first.rejection?.code, 'account_unread');
  assert.match(first.rejection?.message ?? '', /--without-account stripe\/acct_other\/live/);
  await one.engine.close();
  const other = await open('another account');
  assert.equal((await adoptAll(other.context)).rejection, undefined);
  await other.engine.close();
  const restored = {
    snapshotAt: new Date().toISOString(),
    restoredAt: new Date().toISOString(),
    backup: 'newer',
  };
  const again = await open('right', folder);
  await new PaymentsLock(again.engine).shut(restored);
  assert.equal((await adoptAll(again.context)).rejection?.code, 'account_unread');
  const waived = await adoptAll(again.context, { withoutAccounts: ['stripe/acct_other/live'] });
  assert.equal(waived.rejection, undefined);
  await again.engine.close();
  const shut = await open('another account', folder);
  await assert.rejects(buy(shut.context, { key: 'new', seat: 'B-1', processor: 'stripe' }), isShut);
  await shut.engine.close();
});

test(
  'payments of earlier versions, without a mode, open on the records with their newest charge',
  onLmdb,
  async (t) => {
    const { folder, open } = await stripeWorld(t);
    const { engine } = await open('right');
    await asEarlierVersion(engine);
    await engine.close();
    const wrong = await open('test mode', folder);
    assert.equal((await adoptAll(wrong.context)).rejection?.code, 'account_unknown');
    await wrong.engine.close();
    const right = await open('right', folder);
    t.after(() => right.engine.close());
    assert.equal((await adoptAll(right.context)).rejection, undefined);
  },
);

test('a new account is read only if the operator names it', onLmdb, async (t) => {
  const { open } = await stripeWorld(t);
  const right = await open('right');
  assert.equal((await adoptAll(right.context)).rejection, undefined);
  await right.engine.close();
  const other = await open('another account');
  t.after(() => other.engine.close());
  assert.equal((await adoptAll(other.context)).rejection?.code, 'account_unknown');
  const newAccounts = ['stripe/acct_other/live'];
  assert.equal((await adoptAll(other.context, { newAccounts })).rejection, undefined);
  assert.equal((await buy(other.context, { key: 'new', seat: 'B-1', processor: 'stripe' })).status, 200);
});

test('no refund is requested from an account that was not read', onLmdb, async (t) => {
  const { open } = await stripeWorld(t);
  const { engine, context } = await open('right');
  t.after(() => engine.close());
  const [paymentId = ''] = Object.values(await seatsOf(engine));
  const request = {
    processor: 'stripe',
    route: 'charge',
    paymentId,
    amount: undefined,
    idempotencyKey: undefined,
  };
  await assert.rejects(
    refundPayment(context, { ...request, caller: 'test', requestId: 'req', audit: neverAudited }),
    isShut,
  );
});

/** A shop that charged `early` before its backup with each of these keys, and `lost` after it with the first. */
async function stripeWorld(t: TestContext, used: readonly KeyName[] = ['right']) {
  const folder = newDataFolder(t);
  const stripes = {} as Record<KeyName, ScriptedStripe>;
  for (const name of Object.keys(keys) as KeyName[]) {
    stripes[name] = await startScriptedStripe(t);
    stripes[name].command({ set: keys[name] });
  }
  const open = async (name: KeyName, at = folder) => {
    const { origin: apiBase } = stripes[name];
    const processor = await stripeProcessor({ key: keys[name].key, apiBase, webhookSecrets: [] });
    return openContext(at, new Map([['stripe', processor]]));
  };
  const charge = async (name: KeyName, at: string, key: string, seat: string) => {
    const { engine, context } = await open(name, at);
    assert.equal((await buy(context, { key, seat, processor: 'stripe' })).status, 200);
    await engine.close();
  };
  for (const [n, name] of used.entries()) await charge(name, `${folder}-old`, `early-${n}`, `A-${n}`);
  await restoreTo(folder, `${folder}-old`);
  await charge('right', `${folder}-old`, 'lost', 'L-1');
  return { folder, stripes, open };
}

function buyLost(context: Parameters<typeof buy>[0]) {
  return buy(context, { key: 'lost', seat: 'L-1', processor: 'stripe' });
}

async function asEarlierVersion(engine: Awaited<ReturnType<typeof openContext>>['engine']): Promise<void> {
  const [id = ''] = Object.values(await seatsOf(engine));
  const text = (await engine.get('service:payments', id)) ?? '';
  const { mode: _mode, ...payment } = JSON.parse(text);
  const failure = await engine.commit([
    { kind: 'replace', space: 'service:payments', id, value: JSON.stringify(payment) },
    { kind: 'delete', space: 'service:charge-accounts', id: 'stripe/acct_shop/live' },
  ]);
  assert.equal(failure, undefined);
}

async function chargesOf(folder: string) {
  const { charges } = await FileLedger.open(`${folder}.jsonl`).records();
  return structuredClone(charges);
}

function isShut({ code }: ServiceError): boolean {
  return code === 'reconcile_required';
}

function neverAudited(): never {
  throw new Error('nothing is refunded');
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceError } from '../../src/errors.ts';
import { findPayment } from '../../src/payments/payment-store.ts';
import { Payments } from '../../src/payments/payments.ts';
import type { Engine, Write } from '../../src/storage/engine.ts';
import { contextOver, created } from '../support/payments/context-over.ts';

const routes = {
  poster: { unit: 'minor', price: { table: 'prices', id: 'metadata.sku', currency: 'EUR' } },
} as const;
const request = {
  processor: 'simulated',
  route: 'poster',
  amount: 1_000,
  currency: 'EUR',
  token: 'tok_paid',
  metadata: { sku: 'poster' },
  idempotencyKey: undefined,
  needsPrice: true,
  caller: '',
  requestId: 'req_1',
};

function priceWrite(value: string): Write {
  return { kind: 'replace', space: 'table:prices', id: 'poster', value };
}

/** Payments over a store in which the price changes right after it was read, as by another process. */
async function priceChangingAfterRead(t: Parameters<typeof contextOver>[0], changes: readonly Write[]) {
  const left = [...changes];
  const over = await contextOver(t, routes, (store) => ({
    get: async (space, id) => {
      const value = await store.get(space, id);
      const change = space === 'table:prices' ? left.shift() : undefined;
      if (change !== undefined) assert.equal(await store.commit([change]), undefined);
      return value;
    },
  }));
  await over.store.commit([created('prices', 'poster', '1000')]);
  return over;
}

for (const [what, change, code, expected] of [
  ['rises', priceWrite('3000'), 'amount_mismatch', { amount: 3_000, currency: 'EUR' }],
  [
    'is deleted',
    { kind: 'delete', space: 'table:prices', id: 'poster' } as const,
    'invalid_request',
    undefined,
  ],
  ['becomes invalid', priceWrite('free'), 'unavailable', undefined],
] as const) {
  test(`charges nothing if the price ${what} between its comparison and the reservation`, async (t) => {
    const { context, ledger, store } = await priceChangingAfterRead(t, [change]);
    await assert.rejects(new Payments(context).charge(request), (error: ServiceError) => {
      assert.equal(error.code, code);
      assert.deepEqual(error.details.expected, expected);
      return true;
    });
    assert.deepEqual(ledger.charges, []);
    assert.deepEqual(await store.spaces(), ['table:prices'], 'nothing was reserved');
  });
}

test('charges the price if it changes and changes back before the reservation', async (t) => {
  const { context, ledger } = await priceChangingAfterRead(t, [priceWrite('3000')]);
  const { commit } = context.engine;
  const engine = new Proxy(context.engine, {
    get: (target, name: keyof Engine) =>
      name !== 'commit'
        ? target[name]
        : async (writes: readonly Write[]) => {
            const rejection = await commit(writes);
            if (rejection !== undefined) await commit([priceWrite('1000')]);
            return rejection;
          },
  });
  const paid = await new Payments({ ...context, engine }).charge(request);
  assert.equal(paid.status, 200, paid.text);
  assert.deepEqual(
    ledger.charges.map(({ amount }) => amount),
    [1_000],
  );
  const { price } = (await findPayment(context, paid.paymentId)) ?? {};
  assert.deepEqual(price, { type: 'table', table: 'prices', id: 'poster', unitAmount: 1_000 });
});

test('of two equal requests with one key, the price rising between them, both get the response to the first', async (t) => {
  const { context, ledger, store } = await contextOver(t, routes, () => ({}));
  await store.commit([created('prices', 'poster', '1000')]);
  const keyed = { ...request, idempotencyKey: 'order-1' };
  let first: Awaited<ReturnType<Payments['charge']>> | undefined;
  const prices = {
    // The first request is charged and the price rises, after the second request has looked its key up.
    agree: async (...args: Parameters<typeof context.prices.agree>) => {
      first = await new Payments(context).charge(keyed);
      await store.commit([priceWrite('3000')]);
      return context.prices.agree(...args);
    },
  };
  const second = await new Payments({ ...context, prices } as unknown as typeof context).charge(keyed);
  assert.deepEqual([second.status, second.text, second.replayed], [200, first?.text, true]);
  assert.equal(ledger.charges.length, 1);
});

test('charges the price that another process has set since this one read it, and no other', async (t) => {
  const { context, ledger, store } = await contextOver(t, routes, () => ({}));
  await store.commit([created('prices', 'poster', '1000')]);
  const status = (amount: number) =>
    new Payments(context).charge({ ...request, amount }).then(
      (response) => response.status,
      ({ code }: ServiceError) => code,
    );
  assert.equal(await status(1_000), 200);
  await store.commit([priceWrite('3000')]);
  assert.equal(await status(1_000), 'amount_mismatch', 'the remembered price');
  assert.equal(await status(3_000), 200);
  await store.commit([priceWrite('500')]);
  assert.equal(await status(500), 200, 'another price than the remembered one');
  assert.equal(await status(3_000), 'amount_mismatch');
  assert.deepEqual(
    ledger.charges.map(({ amount }) => amount),
    [1_000, 3_000, 500],
  );
});

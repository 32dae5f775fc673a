import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Accounts } from '../../src/payments/accounts.ts';
import type { Payment } from '../../src/payments/payment.ts';
import type { ConnectedProcessor } from '../../src/processors/processor.ts';

test('a key that may not read its account never proves that a payment of a known account is its own', async () => {
  const processor = { account: async () => ({ kind: 'withheld' }) } as unknown as ConnectedProcessor;
  const payment = { account: 'acct_of_another_shop' } as Payment;
  assert.notEqual(await new Accounts({ get: async () => undefined }).differs(payment, processor), 'no');
});

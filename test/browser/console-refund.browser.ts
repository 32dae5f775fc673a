import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openWindow } from '../support/console/page.ts';
import { startTestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';

async function openService(t: TestContext) {
  const service = await startTestService(t);
  const page = await (await openWindow(t, service.origin)).openPage();
  return {
    service,
    page,
    pay: async (amount: number): Promise<string> => {
      const charge = { amount, currency: 'EUR', token: 'tok_paid' };
      return (await service.post(path, charge)).headers.get('payment-id') ?? assert.fail();
    },
    open: (id: string) => page.goto(`${service.origin}/console/payments/simulated/charge/${id}`),
    refunded: async (id: string): Promise<number> =>
      (await service.get(`${path}/${id}`)).json.body.amount_refunded,
  };
}

const button = (page: Page, name: string) => page.getByRole('button', { name });

async function enter(page: Page, amount: string): Promise<void> {
  await button(page, 'Refund …').click();
  await page.getByLabel('Amount in EUR').fill(amount);
}

test('a confirmation belongs to the payment that it was opened on, wherever the history goes', async (t) => {
  const { service, page, pay, refunded } = await openService(t);
  const [other, one] = [await pay(9_000), await pay(10_000)];
  await page.goto(`${service.origin}/console/payments`);
  await page.getByRole('link', { name: '€90.00' }).click();
  await page.getByRole('link', { name: 'All payments' }).click();
  await page.getByRole('link', { name: '€100.00' }).click();
  await enter(page, '40');
  await button(page, 'Continue').click();
  await button(page, 'Refund €40.00').waitFor();
  await page.evaluate('history.go(-2)');
  await page.getByRole('heading', { name: '€90.00' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  assert.deepEqual([await refunded(one), await refunded(other)], [0, 0]);
});

test('neither a held key nor a double click passes the confirmation', async (t) => {
  const { page, pay, open, refunded } = await openService(t);
  const id = await pay(10_000);
  let sent = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST') sent++;
  });
  await open(id);
  const sure = page.getByText('€40.00 goes back to the cardholder.');
  await enter(page, '40');
  for (let repeated = 0; repeated < 5; repeated++) await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  await sure.waitFor();
  await button(page, 'Cancel').click();
  await enter(page, '40');
  await button(page, 'Continue').dblclick({ delay: 30 });
  await sure.waitFor();
  assert.equal(sent, 0);
  assert.equal(await refunded(id), 0);
});

test('a refund stays in sight while it is sent, and is repeated as it was until its outcome is known', async (t) => {
  const { page, pay, open, refunded } = await openService(t);
  const id = await pay(10_000);
  const sent: unknown[] = [];
  let answer = () => {};
  await page.route('**/refund', async (route) => {
    sent.push([route.request().headers()['idempotency-key'], route.request().postData()]);
    if (sent.length > 1) return route.continue();
    const response = await route.fetch();
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    const error = { type: 'service', code: 'payment_outcome_unknown', message: 'Unknown.', retryable: false };
    await route.fulfill({ response, status: 504, json: { statusCode: 504, body: { error } } });
  });
  await open(id);
  await enter(page, '30');
  await button(page, 'Continue').click();
  await button(page, 'Refund €30.00').click();
  await page.getByText('Refunding …').waitFor();
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 400);
  // What closes a dialog is drawn before this.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  assert.equal(await page.getByText('Refunding …').count(), 1);
  answer();
  await page.getByText('The outcome is not known yet.').waitFor();
  await button(page, 'Close').click();
  await page.getByRole('link', { name: 'All payments' }).click();
  await page.getByRole('link', { name: '€100.00' }).click();
  await button(page, 'Refund …').click();
  await page.getByText('A refund of €30.00 was sent, and its outcome is not known.').waitFor();
  await button(page, 'Repeat the refund of €30.00').click();
  await page.getByText('Refund of €30.00 accepted').waitFor();
  assert.equal(await refunded(id), 3_000);
  assert.equal(sent.length, 2);
  assert.deepEqual(sent[0], sent[1]);
  await button(page, 'Close').click();
  await button(page, 'Refund …').click();
  assert.equal(
    await page.getByLabel('Amount in EUR').inputValue(),
    '70.00',
    'the next refund is another one',
  );
});

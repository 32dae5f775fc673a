import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { clockDifferenceMs } from '../../console/src/limits.ts';
import { findPayment, replaced } from '../../src/payments/payment-store.ts';
import { look } from '../support/browser.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { naughtyStrings } from '../support/console/naughty-strings.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { writeSettings } from '../support/payments/settings-file.ts';
import { newDataFolder, openStoreOf, startTestService, type TestService } from '../support/service.ts';

const path = '/stage/payment/simulated/charge';
const charge = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };

async function pay(service: TestService, body: object = {}, route = 'charge'): Promise<string> {
  const response = await service.post(path.replace('charge', route), { ...charge, ...body });
  return response.headers.get('payment-id') ?? assert.fail(response.text);
}

/** In milliseconds, as the page sees it: from the response to the charge until the row is there. */
async function timeToSee(page: Page, name: string, charged: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await charged();
  await page.getByRole('link', { name }).waitFor();
  return performance.now() - began;
}

test('shows a new charge by itself, and filters what it shows; the filters are in the address', async (t) => {
  const service = await startTestService(t);
  await pay(service, { description: 'Two posters', metadata: { sku: 'poster-a2' } });
  await pay(service, { amount: 500, currency: 'JPY', token: 'tok_insufficient_funds' });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console`);
  await page.getByText('2 payments').waitFor();
  const ms = await timeToSee(page, '€77.00', () => pay(service, { amount: 7_700 }));
  t.diagnostic(`a new charge is seen after ${Math.round(ms)} ms`);
  await look(page, 'payments');
  assert.deepEqual(await accessibilityProblems(page), []);

  await page.keyboard.press('/');
  await page.keyboard.type('POSTER-A2');
  await page.getByText('1 payment ·').waitFor();
  assert.match(page.url(), /\?q=POSTER-A2$/);
  await page.reload();
  await page.getByText('1 payment ·').waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByLabel('Status').selectOption('Declined');
  await page.getByRole('link', { name: '¥500' }).waitFor();
  assert.equal(await page.getByRole('row').count(), 2, 'the head and one payment');
  await page.getByLabel('Amount from').fill('501');
  await page.getByText('No payment matches these filters.').waitFor();
  await page.goto(`${service.origin}/console/payments?from=2020-01-01&to=2020-12-31`);
  await page.getByText('No payment matches these filters.').waitFor();
});

test('refunds in three clicks, and by keyboard a part; the timeline has both', async (t) => {
  const service = await startTestService(t);
  const id = await pay(service, { amount: 10_000 });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(`${new URL(request.url()).pathname} ${request.postData()}`);
  });
  await page.goto(`${service.origin}/console`);
  await page.getByRole('link', { name: '€100.00' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Refund …' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Refund this payment' }).waitFor();
  const amount = page.getByLabel('Amount in EUR');
  await amount.waitFor();
  assert.equal(await amount.inputValue(), '100.00');
  for (const wrong of ['0', '100.01', '1.234', '-1', 'x', '']) {
    await amount.fill(wrong);
    assert.ok(await page.getByRole('button', { name: 'Continue' }).isDisabled(), wrong);
  }
  await amount.fill('40,25');
  await page.keyboard.press('Enter');
  await page.getByText('€40.25 goes back to the cardholder.').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'refund');
  // On a busy machine the focus follows the text with a delay.
  await page.locator('button:focus').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('Refund of €40.25 accepted').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByText('Refund of €40.25 succeeded').waitFor();

  await page.getByRole('button', { name: 'Refund …' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Refund €59.75' }).click();
  await page.getByText('Refund of €59.75 accepted').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('Refund of €59.75 succeeded').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Refund …' }).count(), 0, 'nothing is left');
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'payment');
  const refund = `${path}/${id}/refund`;
  assert.deepEqual(sent, [`${refund} {"amount":4025}`, `${refund} {"amount":5975}`]);
});

test('a refund is in the unit of its route and in the decimals of ISO 4217, whatever the browser thinks of them', async (t) => {
  const file = writeSettings(t, { payments: { routes: { charge: {}, whole: { unit: 'major' } } } });
  const service = await startTestService(t, { file });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  for (const [route, currency, amount, shown, refunded] of [
    ['charge', 'RSD', 12_345, '123.45', 12_345],
    ['whole', 'RSD', 123.45, '123.45', 12_345],
    ['whole', 'KWD', 1.234, '1.234', 1_234],
    ['charge', 'JPY', 700, '700', 700],
  ] as const) {
    const id = await pay(service, { amount, currency }, route);
    await page.goto(`${service.origin}/console/payments/simulated/${route}/${id}`);
    await page.getByRole('button', { name: 'Refund …' }).click();
    assert.equal(await page.getByLabel(`Amount in ${currency}`).inputValue(), shown);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Refund', exact: false }).last().click();
    await page.getByText(/accepted/).waitFor();
    const { body } = (await service.get(`${path.replace('charge', route)}/${id}`)).json;
    assert.equal(body.amount_refunded, refunded, `${route} ${currency}`);
  }
});

test('lists what needs review, with what to do', async (t) => {
  const data = newDataFolder(t);
  const before = await startTestService(t, { data });
  const id = await pay(before);
  await pay(before);
  await before.stop();
  const engine = await openStoreOf(data);
  const payment = (await findPayment({ engine }, id)) ?? assert.fail();
  const { chargeId: _, ...rest } = payment;
  await engine.commit([replaced(payment, { ...rest, state: 'needs_review' })]);
  await engine.close();
  const service = await startTestService(t, { data });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/payments`);
  await page.getByText('2 payments').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByText(`npx counterfoil payments resolve ${id} --declined`).waitFor();
  assert.equal(await page.getByRole('listitem').count(), 1);
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'review');
  await page.getByRole('link', { name: '€10.50' }).click();
  await page.getByText(`npx counterfoil payments resolve ${id} --declined`).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Refund …' }).count(), 0);
});

test('payments that end show it, also those that the page did not watch before others had ended', async (t) => {
  const service = await startTestService(t);
  const waiting = { token: 'tok_requires_action', return_url: 'http://127.0.0.1/x' };
  // One more than the page watches at once.
  const ids: string[] = [];
  while (ids.length < 21) ids.push(await pay(service, waiting));
  const page = await (await openWindow(t, service.origin)).openPage();
  await page.goto(`${service.origin}/console/payments`);
  await page.getByText('21 payments').waitFor();
  const statusOf = (id: string) => page.getByRole('row').filter({ hasText: id }).locator('.status');
  const end = async (id: string) => {
    assert.equal((await service.send('POST', `${path}/${id}/cancel`, undefined)).status, 200);
    await statusOf(id).getByText('Declined').waitFor();
  };
  const [oldest, newest] = [ids[0] ?? assert.fail(), ids[20] ?? assert.fail()];
  // Then all of them are older than the news.
  await new Promise((resolve) => setTimeout(resolve, clockDifferenceMs + 1_000));
  await pay(service);
  await page.getByText('22 payments').waitFor();
  await end(newest);
  await end(oldest);
  assert.equal(await statusOf(newest).innerText(), 'Declined', 'it stays ended');
});

test('a second with more payments than a window is listed whole, and does not keep news away', async (t) => {
  const service = await startTestService(t);
  const id = await pay(service);
  const { body } = (await service.get(`${path}/${id}`)).json;
  const base = Date.now() - 60_000;
  const madeAt = (ms: number, n: number) => ({
    ...body,
    id: `pay_${base + ms}${String(n).padStart(6, '0')}`,
    created_at: new Date(base + ms).toISOString(),
  });
  const all = Array.from({ length: 1_200 }, (_, n) => madeAt(Math.floor(n / 2), n));
  const page = await (await openWindow(t, service.origin)).openPage();
  await page.route(`**${path}?*`, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [since, after] = [query.get('since') ?? '', query.get('after') ?? ''];
    const found = all.filter((each) => each.id > after && each.created_at >= since);
    const payments = found.slice(0, Number(query.get('limit')));
    const next = found.length > payments.length ? { next: payments.at(-1).id } : {};
    return route.fulfill({ json: { statusCode: 200, body: payments, ...next } });
  });
  await page.goto(`${service.origin}/console/payments`);
  await page.getByRole('row').nth(1).waitFor();
  const isWhole = page.getByText('1200 payments · All payments are loaded.');
  // A window may begin in the middle of them; the rest is read when the reader nears the end.
  for (const began = Date.now(); (await isWhole.count()) === 0; await page.waitForTimeout(50)) {
    assert.ok(Date.now() - began < givenUpMs, await page.locator('.count').innerText());
    await page.locator('.scroller').evaluate((element) => element.scrollTo(0, element.scrollHeight));
  }
  all.push(madeAt(700, 1_200));
  await page.getByText('1201 payments').waitFor();
});

test('hostile metadata is shown whole, and runs nothing', async (t) => {
  const service = await startTestService(t);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  const values = naughtyStrings().filter((text) => text.length <= 400);
  for (let at = 0; at < values.length; at += 40) {
    const metadata = Object.fromEntries(values.slice(at, at + 40).map((text, n) => [`key-${n}`, text]));
    const id = await pay(service, { metadata, description: values[at] ?? '' });
    await page.goto(`${service.origin}/console/payments/simulated/charge/${id}`);
    await page.getByRole('heading', { name: 'Metadata' }).waitFor();
    const shown = await page.evaluate(
      `[...document.querySelectorAll('dl.details')[1].querySelectorAll('dd')].map((each) => each.textContent)`,
    );
    const { body } = (await service.get(`${path}/${id}`)).json;
    assert.deepEqual(shown, Object.values(body.metadata));
  }
  await page.goto(`${service.origin}/console/payments?q=${encodeURIComponent('<script>alert(1)</script>')}`);
  await page.getByRole('heading', { name: 'Payments' }).waitFor();
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { look } from '../support/browser.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { startTestService } from '../support/service.ts';
import { signIn, startSignIn } from '../support/sign-in/signing-in.ts';

test('shows integrations and people, and ends the sessions of one', async (t) => {
  const kit = await startSignIn(t);
  const { service, browser } = kit;
  await signIn(kit);
  const session = () => browser.open(`${service.origin}/v3/auth/session`);
  assert.equal((await session()).status, 200);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console`);
  await page.getByRole('link', { name: 'Sign-in' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.getByRole('heading', { name: 'oidc/web' }).waitFor();
  await page.getByText(`${service.origin}/v3/auth/oidc/web/callback`).waitFor();
  const trying = page.getByRole('link', { name: 'Try web: sign in with it' });
  assert.equal(await trying.getAttribute('href'), `${service.origin}/v3/auth/oidc/web/sign-in`);
  await page.getByRole('status').getByText('1 person loaded').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'people');
  await page.getByRole('table', { name: 'People' }).getByRole('button').press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText(kit.provider.issuer).waitFor();
  await dialog.getByRole('listitem').getByText('oidc/web').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'person');
  const end = page.getByRole('button', { name: /^End the sessions of / });
  await end.press('Enter');
  assert.equal((await session()).status, 200, 'not before the confirmation');
  await page.getByRole('button', { name: 'End sessions', exact: true }).press('Enter');
  await page.getByText('No sessions').waitFor();
  assert.equal((await session()).status, 401);
  assert.equal(await end.count(), 0);
});

test('shows the health and plots of the metrics, and lists the keys', async (t) => {
  const { origin } = await startTestService(t);
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  await page.goto(`${origin}/console/operations`);
  await page.getByRole('status').getByText('Ready').waitFor();
  await page.getByText(/^Memory: [\d,.]+ MB$/).waitFor();
  await page.getByText(/^Requests: [\d,.]+ per second$/).waitFor();
  assert.equal(await page.locator('canvas').count(), 6);
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'operations');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).getByText('Go to payments').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByLabel('Colors').selectOption('Dark');
  await page.reload();
  assert.equal(await page.getByLabel('Colors').inputValue(), 'dark');
});

test('fits on a phone', async (t) => {
  const service = await startTestService(t);
  const body = { amount: 1_050, currency: 'EUR', token: 'tok_paid', description: 'x'.repeat(200) };
  const paid = await service.post('/stage/payment/simulated/charge', body);
  await service.post('/v3/table/books/create', { id: 'i'.repeat(500), name: 'n'.repeat(5_000) });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.setViewportSize({ width: 360, height: 740 });
  for (const view of [
    'payments',
    `payments/simulated/charge/${paid.headers.get('payment-id')}`,
    'review',
    'reconciliation?processor=simulated',
    'tables',
    'tables/books',
    'people',
    'keys',
    'operations',
    'backups',
    'audit',
  ]) {
    await page.goto(`${service.origin}/console/${view}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const unfinished = page.getByText(/^(Loading|Examining|Comparing)/);
    await unfinished.first().waitFor({ state: 'detached' });
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    assert.ok(Number(overflow) <= 0, `${view} is ${overflow} px too wide`);
  }
});

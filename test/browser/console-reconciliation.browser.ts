import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerRecords } from '../../src/processors/simulated/ledger.ts';
import { MemoryLedger } from '../../src/processors/simulated/memory-ledger.ts';
import { bearing, newKey } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { enterKey } from '../support/console/sign-in.ts';
import { startLedger } from '../support/ledger/ledger-process.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const sold = { amount: 1_050, currency: 'EUR', token: 'tok_paid' };

test('compares with the records of a processor, links each difference, and shows why it could not', async (t) => {
  const ledger = new MemoryLedger();
  const { origin: ledgerOrigin } = await startLedger(t, ledger);
  const data = newDataFolder(t);
  const admin = await newKey(data, { scopes: ['admin'] });
  const support = await newKey(data, { scopes: ['payments:read'] });
  const service = await startTestService(t, { data, env: { COUNTERFOIL_SIMULATED_LEDGER: ledgerOrigin } });
  const { origin } = service;
  const paid = await service.post('/stage/payment/simulated/charge', sold, bearing(admin));
  const id = paid.headers.get('payment-id') as string;
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  await enterKey(page, origin, admin);
  await page.getByRole('link', { name: 'Reconciliation' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.getByRole('heading', { name: 'Reconciliation' }).waitFor();
  const compare = page.getByRole('button', { name: 'Compare' });
  await compare.press('Enter');
  await page.getByRole('status').getByText('No difference.').waitFor();
  assert.match(page.url(), /\/console\/reconciliation\?processor=simulated$/);
  assert.deepEqual(await accessibilityProblems(page), []);

  const [charge] = ledger.charges;
  assert.ok(charge !== undefined);
  const foreign = { ...charge, paymentId: '<img src=x onerror=alert(1)>', chargeId: 'ch_lost' };
  const records: LedgerRecords = { charges: [{ ...charge, amount: 999 }, foreign], refunds: [] };
  ledger.records = async () => records;
  await compare.click();
  await page.getByRole('status').getByText('2 differences.').waitFor();
  await page.getByRole('row', { name: 'has amount 1050 here and 999' }).waitFor();
  const lacking = page.getByRole('row', { name: '<img src=x onerror=alert(1)> ch_lost' });
  assert.equal(await lacking.getByRole('link').count(), 0);
  await page.getByText('npx counterfoil payments reconcile --adopt').waitFor();
  await look(page, 'reconciliation');
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.getByRole('link', { name: id }).click();
  await page.getByRole('heading', { level: 1, name: /10\.50/ }).waitFor();
  await page.goBack();
  await page.getByRole('status').getByText('2 differences.').waitFor();

  await page.goto(`${origin}/console/reconciliation?processor=simulated&from=2025-01-01&to=2025-01-31`);
  await page.getByRole('status').getByText('0 payments here').waitFor();
  assert.equal(await page.getByLabel('From').inputValue(), '2025-01-01');
  await page
    .getByText(/reconcile simulated --from 2024-12-31T|reconcile simulated --from 2025-01-01T/)
    .waitFor();
  await page.goto(`${origin}/console/reconciliation?processor=simulated&from=2025-01-01&to=2025-12-31`);
  await page.getByRole('alert').getByText('The period has at most 32 days').waitFor();
  ledger.records = async () => ({ kind: 'lost' }) as never;
  await page.goto(`${origin}/console/reconciliation?processor=simulated`);
  const failed = page.getByRole('alert');
  await failed.getByText('The records of the processor cannot be read.').waitFor();
  await failed.getByText(/Request req_/).waitFor();
  ledger.records = async () => records;
  await failed.getByRole('button', { name: 'Try again' }).press('Enter');
  await page.getByRole('status').getByText('2 differences.').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await enterKey(page, origin, support);
  await page.getByRole('link', { name: 'Payments' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Reconciliation' }).count(), 0);
  await page.goto(`${origin}/console/reconciliation?processor=simulated`);
  await page.getByRole('alert').getByText('This API key lacks the scope admin.').waitFor();
});

test('shows what it has found while a slow processor goes on, and that another tab must wait', async (t) => {
  const ledger = new MemoryLedger();
  const { origin: ledgerOrigin } = await startLedger(t, ledger);
  const { origin } = await startTestService(t, { env: { COUNTERFOIL_SIMULATED_LEDGER: ledgerOrigin } });
  const { promise, resolve: respond } = Promise.withResolvers<LedgerRecords>();
  ledger.records = () => promise;
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  await page.goto(`${origin}/console/reconciliation?processor=simulated`);
  await page.getByRole('status').getByText('Comparing …').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Compare' }).isDisabled());
  const other = await openPage();
  await other.goto(`${origin}/console/reconciliation?processor=simulated`);
  await other.getByRole('alert').getByText('being compared already').waitFor();
  await page.getByRole('status').getByText('0 payments here').waitFor();
  respond({ charges: [], refunds: [] });
  await page.getByRole('status').getByText('No difference.').waitFor();
  await other.getByRole('button', { name: 'Try again' }).click();
  await other.getByRole('status').getByText('No difference.').waitFor();
});

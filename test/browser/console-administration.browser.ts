import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audited } from '../../src/audit/audit.ts';
import { idWithin, newKey } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { enterKey } from '../support/console/sign-in.ts';
import { newDataFolder, openStoreOf, startTestService } from '../support/service.ts';

test('shows the audit trail to administrators, newest act first, and goes back to the oldest one', async (t) => {
  const data = newDataFolder(t);
  const engine = await openStoreOf(data);
  const old = Date.parse('2025-01-01T12:00:00.000Z');
  for (let index = 0; index < 150; index++)
    await engine.commit([
      audited({ what: 'user.signed_in', on: `person-${index}`, by: 'user' }, old + index),
    ]);
  await engine.close();
  const admin = await newKey(data, { scopes: ['admin'] });
  const reader = await newKey(data, { scopes: ['tables:read'] });
  const service = await startTestService(t, { data });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await enterKey(page, service.origin, admin);
  await page.getByRole('link', { name: 'Audit' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  const newest = page.getByRole('row').nth(1);
  await newest.getByText('Signed in to the console').waitFor();
  await newest.getByText(`API key ${idWithin(admin)}`).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'audit');
  assert.equal(await page.getByText('person-0', { exact: true }).count(), 0);
  await page.getByRole('button', { name: 'Show older acts' }).press('Enter');
  await page.getByText('person-0', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Show older acts' }).waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('row', { name: 'User signed in' }).count(), 150);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await enterKey(page, service.origin, reader);
  await page.getByRole('link', { name: 'Tables' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
  await page.goto(`${service.origin}/console/audit`);
  await page.getByRole('alert').getByText('This API key lacks the scope admin.').waitFor();
});

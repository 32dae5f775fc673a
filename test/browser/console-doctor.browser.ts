import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { test } from 'node:test';
import { newKey } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { enterKey } from '../support/console/sign-in.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

test('shows administrators what the doctor finds, what to do, and the master keys', async (t) => {
  const data = newDataFolder(t);
  const admin = await newKey(data, { scopes: ['admin'] });
  const reader = await newKey(data, { scopes: ['tables:read'] });
  const { origin } = await startTestService(t, { data });
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  await enterKey(page, origin, admin);
  await page.getByRole('link', { name: 'Operations' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  const verdict = page.getByRole('status', { name: 'Doctor' });
  await verdict.getByText('No problem found.').waitFor();
  await page.getByText('10 checks').press('Enter');
  await page.getByRole('row', { name: /^OK backups the service makes none/ }).waitFor();
  const keys = page.getByRole('table', { name: 'Master keys' });
  await keys.getByRole('row', { name: /^\w{16} Encrypts what is stored now/ }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);

  chmodSync(`${data}.key`, 0o640);
  await page.getByRole('button', { name: 'Examine again' }).press('Enter');
  await verdict.getByText('There are problems.').waitFor();
  await page.getByRole('row', { name: /^Problem master keys .*chmod 600/ }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'doctor');
  chmodSync(`${data}.key`, 0o600);

  await page.route('**/v3/doctor', (route) => route.abort());
  await page.getByRole('button', { name: 'Examine again' }).click();
  const unreachable = page.getByRole('alert').getByText('Check the network');
  await unreachable.waitFor();
  await page.unroute('**/v3/doctor');
  await page.getByRole('button', { name: 'Examine again' }).click();
  await unreachable.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Sign out' }).click();
  await enterKey(page, origin, reader);
  await page.getByRole('link', { name: 'Operations' }).click();
  await page.getByRole('status').getByText('Ready').waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Doctor' }).count(), 0);
});

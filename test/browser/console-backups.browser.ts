import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { newKey } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { enterKey } from '../support/console/sign-in.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const never = '0 0 29 2 *';

test('shows the backups of the target, makes one by keyboard, and shows why a target cannot be listed', async (t) => {
  const data = newDataFolder(t);
  const target = `${data}-backups`;
  t.after(() => rmSync(target, { recursive: true, force: true }));
  const admin = await newKey(data, { scopes: ['admin'] });
  const reader = await newKey(data, { scopes: ['tables:read'] });
  const env = {
    COUNTERFOIL_BACKUP_TARGET: target,
    COUNTERFOIL_BACKUP_SCHEDULE: never,
    COUNTERFOIL_BACKUP_CONTINUOUS: '1',
  };
  const { origin } = await startTestService(t, { data, env });
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  await enterKey(page, origin, admin);
  await page.getByRole('link', { name: 'Backups' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('b');
  await page.getByRole('heading', { name: 'Backups' }).waitFor();
  const rows = page.getByRole('table', { name: 'Backups' }).getByRole('row', { name: 'Good' });
  // A backup copies slowly on purpose, and another process may still have had the target for ten seconds.
  await rows.first().waitFor({ timeout: 3 * givenUpMs });
  // The first one is listed shortly before it has ended.
  const make = page.getByRole('button', { name: 'Make a backup now', disabled: false });
  await make.press('Enter');
  await page.getByRole('status').getByText('A backup is being made').waitFor();
  await rows.nth(1).waitFor({ timeout: 3 * givenUpMs });
  await page.getByText('A backup is being made').waitFor({ state: 'detached' });
  assert.equal(await rows.count(), 2);
  await page.getByText('Every 1 s; everything is at the target').waitFor();
  await page.getByText(target, { exact: true }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  // The picture shows the folder of the documents, and not that of the test.
  const place = page.getByText(target, { exact: true });
  await place.evaluate((element) => element.replaceChildren('/backup/counterfoil'));
  await look(page, 'backups');

  renameSync(target, `${target}-away`);
  await page.getByRole('alert').getByText('there is no such folder').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  renameSync(`${target}-away`, target);
  await rows.nth(1).waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await enterKey(page, origin, reader);
  await page.getByRole('link', { name: 'Tables' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Backups' }).count(), 0);
  await page.goto(`${origin}/console/backups`);
  const rejected = page.getByRole('alert');
  await rejected.getByText('This API key lacks the scope admin.').waitFor();
  await rejected.getByText(/Request req_/).waitFor();
});

test('without a target it shows the settings that name one', async (t) => {
  const { origin } = await startTestService(t);
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  await page.goto(`${origin}/console/backups`);
  await page.getByRole('heading', { name: 'This service makes no backups' }).waitFor();
  await page.getByText('COUNTERFOIL_BACKUP_TARGET').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Make a backup now' }).count(), 0);
  assert.deepEqual(await accessibilityProblems(page), []);
});

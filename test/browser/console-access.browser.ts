import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { idWithin, startServiceWithKeys, withKeys } from '../support/access/keys.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { startTestService } from '../support/service.ts';

const command = /^curl (\S+) -H '([^:]+): ([^']+)' -d '(.+)'$/;

test('on a service without keys the console is just there, and its empty views show the commands that fill them', async (t) => {
  const { origin } = await startTestService(t);
  const { openPage } = await openWindow(t, origin);
  const page = await openPage();
  await page.goto(`${origin}/console`);
  await page.getByRole('heading', { name: 'No payments yet' }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await runShownCommand(page);
  await page.getByRole('link', { name: '€10.50' }).waitFor();

  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('heading', { name: 'No tables yet' }).waitFor();
  await runShownCommand(page);
  await page.reload();
  await page.getByRole('link', { name: 'books' }).waitFor();
});

test('signs in by keyboard with a key that the browser does not keep, and out in every tab', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'], name: 'office' } });
  const { openPage, context } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/tables`);
  await page.getByLabel('API key').focus();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.type('cfk_wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The API key is not valid.').waitFor();
  await page
    .getByRole('alert')
    .getByText(/Request req_/)
    .waitFor();
  await page.getByLabel('API key').fill(keys.admin);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Tables', exact: true }).waitFor();
  assert.equal(page.url(), `${service.origin}/console/tables`, 'the view that was asked for');
  await page.getByText('Signed in with the key office').waitFor();

  const [cookie, ...others] = await context.cookies();
  assert.deepEqual(others, []);
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict']);
  const kept = String(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])'));
  assert.ok(!kept.includes(keys.admin.slice(5)) && !kept.includes(cookie?.value ?? ''), kept);

  const other = await openPage();
  await other.goto(`${service.origin}/console/payments`);
  await other.getByRole('heading', { name: 'No payments yet' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  await other.getByText('Your session has ended.').waitFor();
});

test('a revoked key ends the session in the page', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await signIn(page, service.origin, keys.admin);
  await page.getByRole('heading', { name: 'No payments yet' }).waitFor();
  await withKeys(service.data, (store) => store.revoke(idWithin(keys.admin)));
  await page.getByText('Your session has ended.').waitFor();
});

test('offers what the key may do, and shows the reason where the service rejects more', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    reader: { scopes: ['tables:read'] },
  });
  const item = { id: 'emma', name: 'Jane Austen' };
  await service.post('/v3/table/books/create', item, { authorization: `Bearer ${keys.admin}` });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await signIn(page, service.origin, keys.reader, '/console/tables/books');
  await page.getByRole('button', { name: 'Edit emma' }).click();
  await page.getByLabel('Name').waitFor();
  for (const name of ['Save', 'Delete', 'New item'])
    assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  assert.equal(await page.getByRole('link', { name: 'Payments' }).count(), 0);
  await page.goto(`${service.origin}/console/payments`);
  await page.getByRole('alert').getByText('This API key lacks the scope payments:read.').waitFor();
});

test('says that the connection is lost, and goes on when it is back', async (t) => {
  const service = await startTestService(t);
  const { openPage, context } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console`);
  await page.getByRole('heading', { name: 'No payments yet' }).waitFor();
  await context.setOffline(true);
  await page
    .getByRole('alert')
    .getByText(/connection/)
    .first()
    .waitFor();
  await context.setOffline(false);
  await page.getByRole('alert').waitFor({ state: 'detached' });
});

async function signIn(page: Page, origin: string, key: string, path = '/console'): Promise<void> {
  await page.goto(origin + path);
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
}

/** Sends what the command on the page sends. */
async function runShownCommand(page: Page): Promise<void> {
  const shown = await page.locator('pre').innerText();
  const [, url = '', name = '', value = '', body = ''] = command.exec(shown.trim()) ?? assert.fail(shown);
  const response = await fetch(url, { method: 'POST', headers: { [name]: value }, body });
  assert.equal(response.status, 200, await response.text());
}

test('a sign-out that fails says so, and leaves only when the service has ended the session', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/tables`);
  await page.getByLabel('API key').fill(keys.admin);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'No tables yet' }).waitFor();
  const error = { type: 'service', code: 'unavailable', message: 'Not ready.', retryable: true };
  const failures: ((route: Route) => Promise<void>)[] = [
    (route) => route.fulfill({ status: 503, json: { statusCode: 503, body: { error } } }),
    (route) => route.abort(),
  ];
  await page.route('**/console/session', (route) => (failures.shift() ?? ((each) => each.continue()))(route));
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('alert').getByText('Not ready.').waitFor();
  assert.equal(await page.getByLabel('API key').count(), 0);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('alert').getByText('The connection broke.').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByLabel('API key').waitFor();
  assert.equal(await page.getByText('Your session has ended.').count(), 0);
});

test('an address that is not secure has no field for a key, and says why', async (t) => {
  const { service } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { openPage, context } = await openWindow(t, service.origin);
  await context.addInitScript({
    content: 'Object.defineProperty(window, "isSecureContext", { value: false })',
  });
  const page = await openPage();
  await page.goto(`${service.origin}/console`);
  await page.getByRole('alert').getByText('This address is not https').waitFor();
  assert.equal(await page.locator('input').count(), 0);
  assert.deepEqual(await accessibilityProblems(page), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { bearing, keyRequest, startServiceWithKeys, withKeys } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { runCommand } from '../support/command.ts';
import { naughtyStrings } from '../support/console/naughty-strings.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { readPath } from '../support/http/documented-operations.ts';
import { startTestService } from '../support/service.ts';

const dialog = (page: Page) => page.getByRole('dialog');
/** After this time the page reads a list again when its window gets the focus. */
const staleMs = 1_100;
/** The list item of a key. */
const card = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) });

async function openKeys(page: Page, origin: string, key: string): Promise<void> {
  await page.goto(`${origin}/console/keys`);
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
}

/** The secret that the dialog shows. */
async function shownKey(page: Page): Promise<string> {
  await dialog(page).getByRole('button', { name: 'I have stored it: close' }).waitFor();
  const text = (await dialog(page).locator('pre').innerText()).trim();
  assert.match(text, /^cfk_[0-9a-f]{16}\.[\w-]{43}$/);
  return text;
}

test('creates a key by keyboard, shows its secret once, rotates it with an overlap and revokes it by its name', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'], name: 'office' },
    backend: { scopes: ['payments:create', 'payments:refund'], routes: ['stripe/charge'] },
    shop: { kind: 'publishable', scopes: ['payments:create'], origins: ['https://shop.example'] },
  });
  const { openPage, context } = await openWindow(t, service.origin);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const status = async (key: string) => (await service.get(readPath, bearing(key))).status;
  const page = await openPage();
  await openKeys(page, service.origin, keys.admin);
  await page.getByRole('link', { name: 'Tables', exact: true }).press('Enter');
  await page.getByRole('heading', { name: 'No tables yet' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('k');
  await card(page, 'office').getByText('You are signed in with this key.').waitFor();
  for (const [name, sentence] of [
    ['office', 'Does everything'],
    ['backend', 'Refunds payments on stripe/charge, and cancels charges in doubt'],
    ['shop', 'Only from pages of https://shop.example'],
    ['shop', 'For pages: publishable, not a secret'],
  ] as const)
    await card(page, name).getByText(sentence).waitFor();

  await page.getByRole('button', { name: 'Create a key' }).press('Enter');
  await page.getByLabel('Name, to recognize it by').fill('office');
  await page.getByLabel('Reads tables').press('Space');
  await page.getByLabel('Only these tables, one to a line; empty for all').fill('books\nfilms');
  await page.getByLabel('Expires; empty for never').fill('2099-01-01T10:00');
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'create-key');
  await page.getByLabel('Name, to recognize it by').press('Enter');
  await page.locator('input[name=name][aria-invalid=true]:focus').waitFor();
  await page.getByRole('alert').getByText('A valid API key has this name already').waitFor();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('shelf');
  await page.keyboard.press('Enter');
  const made = await shownKey(page);
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  assert.equal(await dialog(page).count(), 1, 'it is not closed by accident');
  await page.getByRole('button', { name: 'Copy' }).press('Enter');
  await page.getByRole('status').getByText('Copied').waitFor();
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), made);
  assert.equal(await status(made), 404, 'it is valid: there is no such table');
  await page.getByRole('button', { name: 'I have stored it: close' }).press('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await card(page, 'shelf').getByText('Reads the tables books, films').waitFor();
  assert.ok(!(await page.content()).includes(made.split('.')[1] as string));

  await page.getByRole('button', { name: 'Rotate shelf' }).press('Enter');
  await page.getByLabel('The present secret stays valid for').selectOption('one hour');
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.getByRole('button', { name: 'Rotate', exact: true }).press('Enter');
  const rotated = await shownKey(page);
  assert.deepEqual([await status(made), await status(rotated)], [404, 404]);
  await page.getByRole('button', { name: 'I have stored it: close' }).press('Enter');
  await card(page, 'shelf').getByText('Previous secret valid until').waitFor();
  await page.getByRole('button', { name: 'Rotate shelf' }).press('Enter');
  await page.getByLabel('End that earlier secret now').press('Space');
  await page.getByRole('button', { name: 'Rotate', exact: true }).press('Enter');
  const again = await shownKey(page);
  assert.deepEqual([await status(made), await status(rotated), await status(again)], [401, 404, 404]);
  await page.getByRole('button', { name: 'I have stored it: close' }).press('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await page.reload();
  await card(page, 'shelf').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'keys');

  await page.getByRole('button', { name: 'Revoke shelf' }).press('Enter');
  const confirm = page.getByRole('button', { name: 'Revoke key' });
  await page.getByLabel('Type shelf to confirm').fill('shelves');
  assert.ok(await confirm.isDisabled());
  await page.getByLabel('Type shelf to confirm').fill('shelf');
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Ended' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Revoke shelf' }).count(), 0);
  assert.equal(await status(again), 401);
});

test('a secret is nowhere in the page after its dialog is closed', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await openKeys(page, service.origin, keys.admin);
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name, to recognize it by').fill('nightly');
  await page.getByLabel('Reads tables').check();
  await page.keyboard.press('Enter');
  const secret = (await shownKey(page)).split('.')[1] as string;
  assert.ok(await heapHas(page, secret), 'what is shown is found');
  await page.getByRole('button', { name: 'I have stored it: close' }).click();
  await card(page, 'nightly').waitFor();
  assert.ok(!(await heapHas(page, secret)));
  const kept = String(await page.evaluate('JSON.stringify([localStorage, sessionStorage, history.state])'));
  assert.ok(!kept.includes(secret));
});

test('on a service without keys the page shows the command for the first one, makes none, and then asks for it', async (t) => {
  const service = await startTestService(t);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/keys`);
  await page.getByRole('heading', { name: 'No API keys yet' }).waitFor();
  const shown = (await page.locator('pre').innerText()).trim();
  assert.equal(shown, 'npx counterfoil keys create --name admin --scope admin');
  assert.equal(await page.getByRole('button', { name: 'Create a key' }).count(), 0);
  assert.deepEqual(await accessibilityProblems(page), []);
  const [, , ...args] = shown.split(' ');
  const { output } = await runCommand(args, { COUNTERFOIL_DATA: service.data });
  while ((await service.get('/v3/keys')).status !== 401) await sleep(20);
  await page.reload();
  await page.getByLabel('API key').fill(output.trim());
  await page.keyboard.press('Enter');
  await card(page, 'admin').getByText('You are signed in with this key.').waitFor();
});

test('the secret of a new key stays in view until it is stored', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await openKeys(page, service.origin, keys.admin);
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name, to recognize it by').fill('office');
  await page.getByLabel('Does everything').check();
  await page.keyboard.press('Enter');
  const key = await shownKey(page);
  // The reader goes to another window to store it, and comes back when the list is no longer fresh: the page must not read it
  // again, and so find out that its session has ended.
  await sleep(staleMs);
  const requested: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).pathname));
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
  await page.evaluate("fetch('/livez').then((response) => response.text())");
  assert.deepEqual(requested, ['/livez']);
  assert.equal((await service.get('/v3/keys', bearing(key))).status, 200);
  assert.equal(await shownKey(page), key);
});

test('says that the session ends with its own key, keeps the new secret in view, and keeps the last admin key', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'], name: 'office' } });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await openKeys(page, service.origin, keys.admin);
  await page.getByRole('button', { name: 'Revoke office' }).click();
  await page.getByText('You are signed in with this key: your session ends now.').waitFor();
  await page.getByLabel('Type office to confirm').fill('office');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('This is the last valid API key with the scope admin').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Rotate office' }).click();
  await page.getByText('Your session ends with it').waitFor();
  await page.getByLabel('The present secret stays valid for').selectOption('no time: it ends now');
  await page.getByRole('button', { name: 'Rotate', exact: true }).click();
  const rotated = await shownKey(page);
  assert.equal((await service.get('/v3/keys', bearing(keys.admin))).status, 401);
  assert.equal(await shownKey(page), rotated);
  await page.getByRole('button', { name: 'I have stored it: close' }).click();
  await page.getByText('Your session has ended.').waitFor();
  await withKeys(service.data, (store) => store.create(keyRequest({ name: 'other', scopes: ['admin'] })));
  await openKeys(page, service.origin, rotated);
  await page.getByRole('button', { name: 'Revoke office' }).click();
  await page.getByLabel('Type office to confirm').fill('office');
  await page.keyboard.press('Enter');
  await page.getByText('Your session has ended.').waitFor();
});

test('offers a key what it may do with keys, and nothing to one that may not see them', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    clerk: { scopes: ['keys:read', 'keys:write', 'tables:read'], tables: ['books'] },
    reader: { scopes: ['keys:read'] },
    wide: { scopes: ['tables:read'] },
    narrow: { scopes: ['tables:read'], tables: ['books'] },
    other: { scopes: ['tables:read'] },
  });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  const offered = async () =>
    (await page.getByRole('button', { name: /^(Create|Rotate|Revoke) / }).allInnerTexts()).sort();
  await openKeys(page, service.origin, keys.clerk);
  await card(page, 'admin').waitFor();
  assert.deepEqual(await offered(), [
    'Create a key',
    'Revoke clerk',
    'Revoke narrow',
    'Revoke reader',
    'Rotate clerk',
    'Rotate narrow',
    'Rotate reader',
  ]);
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name, to recognize it by').fill('new');
  assert.equal(await page.getByRole('checkbox').count(), 3);
  await page.getByLabel('Reads tables').check();
  const tables = page.getByLabel('Only these tables, one to a line; empty for all');
  assert.equal(await tables.inputValue(), 'books');
  await tables.fill('');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.locator('textarea[name=tables][aria-invalid=true]:focus').waitFor();
  await page.getByRole('alert').getByText('The key of this request is limited to certain tables').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Sign out' }).click();

  await page.getByLabel('API key').fill(keys.reader);
  await page.keyboard.press('Enter');
  await card(page, 'admin').waitFor();
  assert.deepEqual(await offered(), []);
  await page.getByRole('button', { name: 'Sign out' }).click();

  await page.getByLabel('API key').fill(keys.other);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('This API key lacks the scope keys:read.').waitFor();
  assert.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0);
});

test('shows hostile names as they are', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, { admin: { scopes: ['admin'] } });
  const names = await withKeys(service.data, async (store) => {
    const made: string[] = [];
    for (const name of naughtyStrings()) {
      const isMade = await store.create(keyRequest({ name })).then(
        () => true,
        () => false,
      );
      if (isMade) made.push(name);
    }
    return made;
  });
  assert.ok(names.length > 200, `${names.length}`);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await openKeys(page, service.origin, keys.admin);
  await card(page, 'admin').waitFor();
  const headings = await page.locator('h3').evaluateAll((all) => all.map(({ textContent }) => textContent));
  assert.deepEqual(headings.sort(), ['admin', ...names].sort());
});

/** Whether a text is in the memory of a page's scripts, after unused memory has been collected. */
async function heapHas(page: Page, text: string): Promise<boolean> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send('HeapProfiler.enable');
    await session.send('HeapProfiler.collectGarbage');
    let snapshot = '';
    session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => {
      snapshot += chunk;
    });
    await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
    return snapshot.includes(text);
  } finally {
    await session.detach();
  }
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startServiceWithKeys } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { fill, items } from '../support/tables/filled-tables.ts';

const books = '/v3/table/books';

interface TableTest {
  readonly service: TestService;
  readonly page: Page;
  /** What the page has sent that can change a table. */
  readonly sent: readonly string[];
  readonly count: () => Promise<number>;
}

async function openTable(t: TestContext, count: number): Promise<TableTest> {
  const service = await startTestService(t);
  await fill(service, books, items(count, 20));
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') sent.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  await page.goto(`${service.origin}/console/tables/books`);
  await choice(page, 0).waitFor();
  return {
    service,
    page,
    sent,
    count: async () => (await service.get(`${books}/read?count=true`)).json.body.count,
  };
}

const idOf = (row: number) => `item-${String(row).padStart(7, '0')}`;
const choice = (page: Page, row: number) => page.getByRole('checkbox', { name: `Select ${idOf(row)}` });
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

test('deletes several items as one batch after ten seconds, and nothing before', async (t) => {
  const { service, page, sent, count } = await openTable(t, 40);
  await choice(page, 2).click();
  await choice(page, 13).click({ modifiers: ['Shift'] });
  await choice(page, 5).click();
  await page.getByText('11 items selected').waitFor();
  const began = performance.now();
  await button(page, 'Delete selected').click();
  await page.getByText('11 items will be deleted in 10 seconds.').waitFor();
  assert.ok(await choice(page, 20).isDisabled(), 'nothing else is chosen meanwhile');
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'undo');
  assert.deepEqual(sent, []);
  assert.equal(await count(), 40);
  await page.getByText('11 items deleted.').waitFor();
  assert.ok(performance.now() - began > 9_900, 'the reader had the time that the page named');
  assert.deepEqual(sent, ['POST /v3/table/books/batch']);
  const left = (await service.get(`${books}/read`)).json.body.map(({ id }: { id: string }) => id);
  const rows = Array.from({ length: 40 }, (_, row) => row).filter((row) => row < 2 || row === 5 || row > 13);
  assert.deepEqual(left, rows.map(idOf));
  await page.getByText('29 items · 29 loaded').waitFor();
});

test('chooses by keyboard, deletes, and takes it back; leaving the table keeps the items too', async (t) => {
  const { page, sent, count } = await openTable(t, 40);
  await choice(page, 3).focus();
  await page.keyboard.press('Space');
  for (const row of [4, 5]) {
    await page.keyboard.press('Shift+ArrowDown');
    await page.locator(`[data-index="${row}"] input:focus`).waitFor();
  }
  await page.getByText('3 items selected').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.locator('[data-index="6"] input:focus').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.locator('[data-index="7"] input:focus').waitFor();
  await page.keyboard.press('Shift+Space');
  await page.getByText('5 items selected').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Delete');
  await page.locator('button:focus', { hasText: 'Undo' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('5 items selected').waitFor();
  await page.locator('button:focus', { hasText: 'Delete selected' }).waitFor();

  await page.keyboard.press('Enter');
  await page.getByText('5 items will be deleted').waitFor();
  await page.getByRole('link', { name: 'All tables' }).press('Enter');
  await page.getByRole('heading', { name: 'Tables' }).waitFor();
  // The window of both deletions, and some more.
  await page.waitForTimeout(11_000);
  assert.deepEqual(sent, []);
  assert.equal(await count(), 40);
});

test('keeps what somebody has changed meanwhile, and misses nothing that somebody has deleted', async (t) => {
  const { service, page } = await openTable(t, 6);
  await page.getByRole('checkbox', { name: 'Select all loaded items' }).press('Space');
  await page.getByText('6 items selected').waitFor();
  await button(page, 'Delete selected').click();
  await page.getByText('6 items will be deleted').waitFor();
  await service.send('PUT', `${books}/update`, { id: idOf(1), name: 'newer' });
  await service.send('DELETE', `${books}/delete`, { id: idOf(2) });
  await service.send('DELETE', `${books}/delete`, { id: idOf(3) });
  await service.post(`${books}/create`, { id: idOf(3), name: 'made again' });
  await button(page, 'Delete now').press('Enter');
  await page.getByText('3 items deleted. 2 items stayed').waitFor();
  assert.deepEqual((await service.get(`${books}/read`)).json.body, [
    { id: idOf(1), name: 'newer' },
    { id: idOf(3), name: 'made again' },
  ]);
  await page.locator('button:focus', { hasText: 'Close' }).press('Enter');
  assert.equal(await page.getByText('3 items deleted.').count(), 0);
});

test('selects a thousand items at once, and says that there are more', async (t) => {
  const { page, sent, count } = await openTable(t, 1_500);
  await page.getByText('1,500 loaded').waitFor();
  await page.getByRole('checkbox', { name: 'Select all loaded items' }).click();
  await page.getByText('1,000 items selected, which is the most at once: 1,000').waitFor();
  await button(page, 'Delete selected').click();
  await button(page, 'Delete now').click();
  await page.getByText('1,000 items deleted.').waitFor();
  assert.equal(await count(), 500);
  assert.equal(sent.length, 10);
  await page.getByText('500 items · 500 loaded').waitFor();
});

test('a deletion that fails on the way shows how far it came', async (t) => {
  const { page, count } = await openTable(t, 250);
  await page.getByRole('checkbox', { name: 'Select all loaded items' }).click();
  let batches = 0;
  await page.route('**/batch', (route) => (batches++ < 1 ? route.continue() : route.abort()));
  await button(page, 'Delete selected').click();
  await button(page, 'Delete now').click();
  await page.getByText('100 items deleted.').waitFor();
  await page.getByRole('alert').getByText('The connection broke.').waitFor();
  assert.equal(await count(), 150);
  await page.getByText('150 items · 150 loaded').waitFor();
});

test('a deletion of an item that somebody has changed is asked for again, and saves nothing', async (t) => {
  const { service, page } = await openTable(t, 2);
  const read = async (row: number) => await service.get(`${books}/read?id=${idOf(row)}`);
  const meet = async (row: number) => {
    await button(page, `Edit ${idOf(row)}`).click();
    await button(page, 'Delete').click();
    await service.send('PUT', `${books}/update`, { id: idOf(row), name: 'theirs' });
    await button(page, 'Delete').click();
    await page.getByText('Somebody else has changed this item').waitFor();
    assert.equal(await button(page, /^Save/).count(), 0);
    assert.equal(await page.getByLabel('Theirs').inputValue(), 'theirs');
  };
  await meet(0);
  await button(page, 'Keep theirs').click();
  await page.getByRole('cell', { name: 'theirs' }).waitFor();
  assert.equal((await read(0)).json.body.name, 'theirs');
  await meet(1);
  await button(page, 'Delete theirs too').click();
  await page.getByText('1 items · 1 loaded').waitFor();
  assert.equal((await read(1)).status, 404);
});

test('drops a table when its name is typed, and only for an administrator', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    writer: { scopes: ['tables:read', 'tables:write'] },
  });
  const authorization = { authorization: `Bearer ${keys.admin}` };
  for (const table of ['books', 'films'])
    await service.post(`/v3/table/${table}/create`, { id: 'emma', name: 'Jane Austen' }, authorization);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  const signIn = async (key: string) => {
    await page.goto(`${service.origin}/console/tables/books`);
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    await choiceOf('emma').waitFor();
  };
  const choiceOf = (id: string) => page.getByRole('checkbox', { name: `Select ${id}` });
  await signIn(keys.writer);
  assert.equal(await button(page, 'Drop table …').count(), 0);
  await button(page, 'Sign out').click();
  await signIn(keys.admin);
  await button(page, 'Drop table …').press('Enter');
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Drop table' });
  await page.getByLabel('Type books to confirm').fill('Books');
  assert.ok(await confirm.isDisabled());
  await page.keyboard.press('Enter');
  assert.deepEqual(await accessibilityProblems(page), []);
  assert.equal((await service.get(`${books}/read?id=emma`, authorization)).status, 200);
  await page.getByLabel('Type books to confirm').fill('books');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'films' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'books' }).count(), 0);
  assert.equal((await service.get(`${books}/read?id=emma`, authorization)).status, 404);
  assert.equal((await service.get('/v3/table/films/read?id=emma', authorization)).status, 200);
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { look } from '../support/browser.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { naughtyStrings } from '../support/console/naughty-strings.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { startTestService } from '../support/service.ts';
import { byIdBytes, fill, items } from '../support/tables/filled-tables.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-exported-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const books = '/v3/table/books';
/** More than the pages that the view keeps. */
const many = 45_000;

test('makes a table, and creates, edits and deletes an item by keyboard', async (t) => {
  const service = await startTestService(t);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/tables`);
  await page.getByRole('button', { name: 'New table' }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Table', { exact: true }).fill('books');
  await page.getByLabel('Id', { exact: true }).fill('emma');
  await page.getByLabel('Name', { exact: true }).fill('Austen\nJane');
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByRole('link', { name: 'books' }).press('Enter');
  assert.equal((await service.get(`${books}/read?id=emma`)).json.body.name, 'Austen\nJane');

  await page.getByRole('button', { name: 'Edit emma' }).press('Enter');
  await page.getByLabel('Name').fill('Jane Austen');
  await page.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByRole('cell', { name: 'Jane Austen' }).waitFor();
  assert.equal((await service.get(`${books}/read?id=emma`)).json.body.name, 'Jane Austen');

  await page.getByRole('button', { name: 'New item' }).press('Enter');
  await page.getByLabel('Id', { exact: true }).fill('emma');
  await page.getByRole('button', { name: 'Save' }).press('Enter');
  await page.getByRole('alert').getByText('The table already has an item with this id').waitFor();
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Edit emma' }).press('Enter');
  await page.getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByText('Delete the item emma? This cannot be undone.').waitFor();
  assert.equal((await service.get(`${books}/read?id=emma`)).status, 200, 'not before the confirmation');
  await page.getByRole('button', { name: 'Delete' }).press('Enter');
  await page.getByText('No items here.').waitFor();
  assert.equal((await service.get(`${books}/read?id=emma`)).status, 404);
});

test('a conflict shows both versions, and the reader decides', async (t) => {
  const service = await startTestService(t);
  await service.post(`${books}/create`, { id: 'emma', name: 'Austen' });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/tables/books`);
  const nameNow = async () => (await service.get(`${books}/read?id=emma`)).json.body.name;
  const change = (name: string) => service.send('PUT', `${books}/update`, { id: 'emma', name });

  await page.getByRole('button', { name: 'Edit emma' }).click();
  await page.getByLabel('Name').fill('mine');
  await change('theirs');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody else has changed this item').waitFor();
  assert.equal(await nameNow(), 'theirs');
  assert.equal(await page.getByLabel('Yours').inputValue(), 'mine');
  assert.equal(await page.getByLabel('Theirs').inputValue(), 'theirs');
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'conflict');
  await change('theirs again');
  await page.getByRole('button', { name: 'Save mine over theirs' }).click();
  for (const began = Date.now(); (await page.getByLabel('Theirs').inputValue()) !== 'theirs again'; )
    assert.ok(Date.now() - began < givenUpMs);
  assert.equal(await nameNow(), 'theirs again', 'a third version is not overwritten unseen');
  await page.getByRole('button', { name: 'Save mine over theirs' }).click();
  await page.getByRole('cell', { name: 'mine' }).waitFor();
  assert.equal(await nameNow(), 'mine');
});

test('scrolls through more items than it keeps, back to the first, and jumps to an id and a prefix', async (t) => {
  const service = await startTestService(t);
  await fill(service, books, items(many, 20));
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/tables/books`);
  await page.getByText('45,000 items').waitFor();
  await page.getByRole('button', { name: 'Edit item-0000000' }).waitFor();
  await look(page, 'table');
  assert.deepEqual(await accessibilityProblems(page), []);
  const last = page.getByRole('button', { name: `Edit item-00${many - 1}` });
  while ((await last.count()) === 0) {
    await page.locator('.scroller').evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.waitForTimeout(20);
  }
  await page.locator('.scroller').evaluate((element) => element.scrollTo(0, 2_500 * 32));
  await page.getByRole('button', { name: 'Edit item-0002500' }).waitFor();
  await page.locator('.scroller').evaluate((element) => element.scrollTo(0, 0));
  await page.getByRole('button', { name: 'Edit item-0000000' }).waitFor();

  await page.keyboard.press('/');
  await page.keyboard.type('item-0043210');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Edit item-0043210' }).waitFor();
  assert.match(page.url(), /\?from=item-0043210$/);
  assert.equal(await page.getByRole('button', { name: 'Edit item-0043209' }).count(), 0);
  await page.getByRole('button', { name: 'Edit item-0043210' }).focus();
  await page.keyboard.press('ArrowDown');
  await page.locator('button:focus', { hasText: 'item-0043211' }).waitFor();

  await page.goto(`${service.origin}/console/tables/books?prefix=item-004499`);
  await page.getByText('· 10 loaded').waitFor();
});

test('exports a table and imports the file again, as JSON Lines and as CSV', async (t) => {
  const service = await startTestService(t);
  const names = [
    'plain',
    'a "quoted", one',
    'two\nlines',
    'ends with CR\r',
    '',
    '=1+1',
    '😀',
    ...naughtyStrings().slice(0, 60),
  ];
  const stored = names.map((name, n) => ({ id: `${n}`.padStart(4, '0'), name }));
  await fill(service, books, stored);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  const status = page.getByRole('dialog').getByRole('status');
  for (const format of ['JSON Lines', 'CSV']) {
    await page.goto(`${service.origin}/console/tables/books`);
    await page.getByRole('button', { name: 'Import and export' }).press('Enter');
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: `Export ${format}` }).press('Enter');
    const download = await downloading;
    await status.getByText(`${stored.length} items exported`).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    const file = join(folderOf(t), download.suggestedFilename());
    await download.saveAs(file);
    const copy = `/v3/table/copy-${format.replace(' ', '')}`;
    await service.post(`${copy}/create`, { ...stored[0], name: 'ours' });
    await page.goto(`${service.origin}/console/tables/${copy.slice('/v3/table/'.length)}`);
    await page.getByRole('button', { name: 'Import and export' }).click();
    const take = async (choice: string) => {
      await page.getByLabel(/^A file of/).setInputFiles(file);
      await page.getByLabel('Items that the table already has').selectOption(choice);
      await page.getByRole('button', { name: 'Import', exact: true }).click();
    };
    await take('Stop there');
    await page.getByRole('alert').getByText('The table already has an item with this id').waitFor();
    await take('Leave them as they are');
    await status
      .getByText(`${stored.length - 1} of ${stored.length} items written, 1 left as they were`)
      .waitFor();
    assert.deepEqual((await service.get(`${copy}/read?id=0000`)).json.body.name, 'ours');
    await take('Replace them');
    await status.getByText(`${stored.length} of ${stored.length} items written, 0 left`).waitFor();
    assert.deepEqual((await service.get(`${copy}/read`)).json.body, stored, format);
  }
});

test('a file with a line that is no item writes nothing', async (t) => {
  const service = await startTestService(t);
  await service.post(`${books}/create`, { id: 'emma', name: 'Jane Austen' });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/tables/books`);
  await page.getByRole('button', { name: 'Import and export' }).click();
  for (const [name, text, problem] of [
    ['x.jsonl', '{"id":"a","name":"b"}\n{"id":1}', 'Line 2 is not an item'],
    ['x.csv', 'key,name\na,b\n', 'The first line must name the columns id and name.'],
  ] as const) {
    await page
      .getByLabel(/^A file of/)
      .setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('alert').getByText(problem).waitFor();
  }
  assert.equal((await service.get(`${books}/read?count=true`)).json.body.count, 1);
});

test('hostile ids and names are shown whole, and run nothing', async (t) => {
  const service = await startTestService(t);
  const strings = naughtyStrings().filter((text) => Buffer.byteLength(text) <= 1_024);
  await fill(
    service,
    books,
    strings.map((text) => ({ id: text, name: text })),
  );
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/tables/books`);
  await page.getByText(`${strings.length} loaded`).waitFor();
  const expected = strings
    .map((text) => ({ id: text, name: text }))
    .toSorted(byIdBytes)
    .map(({ id }) => id);
  const seen = new Map<number, string>();
  for (let row = 0; row < expected.length; row += 10) {
    await page.locator('.scroller').evaluate((element, top) => element.scrollTo(0, top), row * 32);
    // At the end of the list the scroller stops before this row is at the top, and shows it all the same.
    await page.locator(`[data-index="${row}"]`).waitFor();
    const shown = await page.evaluate(
      `[...document.querySelectorAll('[data-index]')].map((row) =>
        [Number(row.dataset.index), row.querySelector('button')?.textContent ?? ''])`,
    );
    for (const [index, text] of shown as [number, string][]) seen.set(index, text);
  }
  assert.deepEqual(
    expected.map((_, index) => seen.get(index)),
    expected,
  );
  const script = expected.find((text) => text.startsWith('<script>')) ?? assert.fail();
  await page.goto(`${service.origin}/console/tables/books?from=${encodeURIComponent(script)}`);
  await page
    .getByRole('button', { name: `Edit ${script}`, exact: true })
    .first()
    .click();
  await page.getByLabel('Name').waitFor();
  assert.equal(await page.getByLabel('Name').inputValue(), script);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openWindow } from '../support/console/page.ts';
import { startTestService } from '../support/service.ts';
import { fill, type Item, items } from '../support/tables/filled-tables.ts';

const books = '/v3/table/books';

async function openImport(t: TestContext, stored: readonly Item[]) {
  const service = await startTestService(t);
  await fill(service, books, stored);
  const page = await (await openWindow(t, service.origin)).openPage();
  const sent: string[] = [];
  page.on('request', (request) => {
    if (request.method() !== 'GET') sent.push(new URL(request.url()).pathname);
  });
  await page.goto(`${service.origin}/console/tables/books`);
  await page.getByRole('button', { name: 'Import and export' }).click();
  return { service, page, sent };
}

const fileOf = (list: readonly Item[]) => list.map((item) => JSON.stringify(item)).join('\n');

async function take(page: Page, name: string, content: string | Buffer, choice?: string): Promise<void> {
  const buffer = Buffer.from(content);
  await page.getByLabel(/^A file of/).setInputFiles({ name, mimeType: 'text/plain', buffer });
  const choices = page.getByLabel('Items that the table already has');
  if (choice !== undefined) await choices.selectOption(choice);
  await page.getByRole('button', { name: 'Import', exact: true }).click();
}

test('an import ends by its Stop alone, which says how far it came', async (t) => {
  const [first, ...rest] = items(301, 20);
  const { service, page } = await openImport(t, [first as Item]);
  let batches = 0;
  let goOn = () => {};
  const reached = new Promise<void>((resolve) => {
    void page.route('**/batch', async (route) => {
      if (++batches === 2) {
        const held = new Promise<void>((release) => {
          goOn = release;
        });
        resolve();
        await held;
      }
      await route.continue();
    });
  });
  await take(page, 'x.jsonl', fileOf(rest));
  await reached;
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 400);
  // What closes a dialog is drawn before this.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  assert.equal(await page.getByRole('dialog').count(), 1);
  await page.getByRole('button', { name: 'Stop' }).click();
  goOn();
  await page.getByText('Stopped after 200 of 300 items.').waitFor();
  assert.equal((await service.get(`${books}/read?count=true`)).json.body.count, 201);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
});

test('an import over items that the table has is still written in batches', async (t) => {
  const stored = items(100, 20);
  const { service, page, sent } = await openImport(t, stored.slice(40, 45));
  const newer = stored.map(({ id }) => ({ id, name: 'newer' }));
  await take(page, 'x.jsonl', fileOf(newer), 'Leave them as they are');
  await page.getByText('95 of 100 items written, 5 left as they were').waitFor();
  assert.deepEqual(sent.splice(0), [`${books}/batch`, `${books}/batch`]);
  const expected = newer.map((item, row) => (row >= 40 && row < 45 ? stored[row] : item));
  assert.deepEqual((await service.get(`${books}/read`)).json.body, expected);
  await take(page, 'x.jsonl', fileOf(newer), 'Replace them');
  await page.getByText('100 of 100 items written, 0 left as they were').waitFor();
  assert.deepEqual(sent, [`${books}/batch`]);
  assert.deepEqual((await service.get(`${books}/read`)).json.body, newer);
});

test('a file that cannot be read is rejected with its line, and not as a fault of the page', async (t) => {
  const { page, sent } = await openImport(t, items(1, 20));
  const latin = Buffer.from('id,name\na,b\nc,J\u00fcrgen\n', 'latin1');
  for (const [content, problem] of [
    ['id,name\na,b\nc,d,e\n', 'Line 3 is not well-formed CSV'],
    ['id,name\na,"b"c\n', 'Line 2 is not well-formed CSV'],
    [latin, 'Line 3 is not in UTF-8.'],
    ['id,name,id\na,b,c\n', 'The first line names a column twice.'],
  ] as const) {
    await take(page, 'x.csv', content);
    await page.getByRole('alert').getByText(problem).waitFor();
    assert.equal(await page.getByText('The page has a fault.').count(), 0);
  }
  assert.deepEqual(sent, []);
});

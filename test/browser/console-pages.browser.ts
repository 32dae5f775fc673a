import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openWindow } from '../support/console/page.ts';
import { startTestService } from '../support/service.ts';
import { fill, items } from '../support/tables/filled-tables.ts';

const books = '/v3/table/books';
/** More than the pages that the view keeps. */
const many = 45_000;
const idOf = (row: number) => `item-${String(row).padStart(7, '0')}`;

test('rows that are read again are the rows of the table as it is now; one failure is one request, until Try again', async (t) => {
  const service = await startTestService(t);
  await fill(service, books, items(many, 5));
  const page = await (await openWindow(t, service.origin)).openPage();
  await page.goto(`${service.origin}/console/tables/books`);
  await page.getByText('45,000 items').waitFor();
  const edit = (id: string) => page.getByRole('button', { name: `Edit ${id}`, exact: true });
  const scrollTo = (row: number) =>
    page.locator('.scroller').evaluate((element, top) => element.scrollTo(0, top), row * 32);
  while ((await edit(idOf(many - 1)).count()) === 0) {
    await scrollTo(many);
    await page.waitForTimeout(20);
  }
  const between = [1, 2, 3, 4, 5].map((n) => `${idOf(1_500)}-${n}`);
  await fill(
    service,
    books,
    between.map((id) => ({ id, name: 'new' })),
  );
  await scrollTo(1_495);
  await edit(between[4] as string).waitFor();
  await scrollTo(1_995);
  await edit(idOf(2_000)).waitFor();
  const shown = await page.evaluate(
    `[...document.querySelectorAll('[data-index]')].map((row) => row.querySelector('button')?.textContent)`,
  );
  const first = Number((shown as string[])[0]?.slice(-4));
  assert.deepEqual(
    shown,
    (shown as string[]).map((_, row) => idOf(first + row)),
  );

  let reads = 0;
  const error = { type: 'service', code: 'internal', message: 'A fault.', retryable: false };
  await page.route('**/read?*', (route) => {
    reads++;
    return route.fulfill({ status: 500, json: { statusCode: 500, body: { error } } });
  });
  await scrollTo(4_500);
  await page.getByRole('alert').getByText('A fault.').waitFor();
  // The time in which a loop would send hundreds.
  await page.waitForTimeout(500);
  assert.ok(reads <= 2, `${reads} requests`);
  await page.unroute('**/read?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await edit(idOf(4_500)).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
});

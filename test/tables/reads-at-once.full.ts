import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ask } from '../support/http/exact-response.ts';
import { fill, type Item } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

/**
 * Concurrent reads take turns, chunk by chunk, and must not change each other's chunks: each response is compared byte
 * for byte with the items of its table.
 */
const service = await startSharedService();
const tables = await Promise.all([...'ab'].map(makeTable));
const [first] = tables as [FilledTable];

interface FilledTable {
  readonly path: string;
  readonly items: readonly Item[];
  readonly text: string;
}

suite('concurrent reads of whole tables', () => {
  for (const coding of ['identity', 'gzip']) {
    test(`return complete and correct tables, each on its own connection (${coding})`, async () => {
      for (let round = 0; round < 2; round++) {
        await Promise.all([...tables, ...tables].map((table) => assertReads(table, coding)));
      }
    });

    test(`return complete and correct tables while single items and pages are read (${coding})`, async () => {
      let isOver = false;
      const others = tables.map(async ({ path, items }) => {
        for (let n = 0; !isOver; n = (n + 311) % items.length) {
          const { id } = items[n] as Item;
          const found = await service.get(`${path}/read?id=${id}`);
          assert.deepEqual(found.json.body, items[n]);
          const page = await service.get(`${path}/read?limit=40&after=${id}`);
          assert.deepEqual(page.json.body, items.slice(n + 1, n + 41));
        }
      });
      for (let round = 0; round < 2; round++) {
        await Promise.all([first, first, first].map((table) => assertReads(table, coding)));
      }
      isOver = true;
      await Promise.all(others);
    });
  }

  test('return complete and correct tables while their items are overwritten with the same names', async () => {
    let isOver = false;
    const writing = tables.slice(1).map(async ({ path, items }) => {
      for (let n = 0; !isOver; n = (n + 60) % items.length) {
        await fill(service, path, items.slice(n, n + 60), 'update');
      }
    });
    for (let round = 0; round < 2; round++) {
      await Promise.all(tables.map((table) => assertReads(table, 'identity')));
    }
    isOver = true;
    await Promise.all(writing);
  });

  test('return complete and correct tables page by page', async () => {
    const walk = async ({ path, items }: FilledTable) => {
      const seen: Item[] = [];
      for (let after = ''; ; ) {
        const { json } = await service.get(`${path}/read?limit=700${after}`);
        seen.push(...json.body);
        if (json.next === undefined) break;
        after = `&after=${json.next}`;
      }
      assert.deepEqual(seen, items);
    };
    await Promise.all([...tables, ...tables].map(walk));
  });
});

async function assertReads({ path, text }: FilledTable, coding: string): Promise<void> {
  const response = await ask(service.origin, `GET ${path}/read`, { 'Accept-Encoding': coding });
  assert.ok(response.isWhole);
  const received = (coding === 'gzip' ? gunzipSync(response.bytes) : response.bytes).toString();
  if (received === text) return;
  const at = [...text].findIndex((character, index) => received[index] !== character);
  assert.fail(`the response differs at ${at}: ${JSON.stringify(received.slice(at - 20, at + 40))}`);
}

/** A table of several chunks. All items have the same size, so that a wrong item would not change the length. */
async function makeTable(name: string): Promise<FilledTable> {
  const path = newTable();
  const items = Array.from({ length: 2_500 }, (_, index) => {
    const number = String(index).padStart(4, '0');
    return { id: `item-${number}`, name: `${name}${number}`.repeat(70) };
  });
  await fill(service, path, items);
  return { path, items, text: JSON.stringify({ statusCode: 200, body: items }) };
}

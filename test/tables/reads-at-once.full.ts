import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { ask } from '../support/http/exact-response.ts';
import { fill, type Item } from '../support/tables/filled-tables.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

/**
 * Reads that go on at the same time take turns, piece by piece. What one has in hand must not be touched by another:
 * each response is held, to the byte, against what was written to its table.
 */
const service = await startSharedService();
const tables = await Promise.all([...'ab'].map(makeTable));
const [first] = tables as [FilledTable];

interface FilledTable {
  readonly path: string;
  readonly items: readonly Item[];
  readonly text: string;
}

suite('whole tables that are read at the same time', () => {
  for (const coding of ['identity', 'gzip']) {
    test(`come whole and as they are, each on its own connection (${coding})`, async () => {
      for (let round = 0; round < 2; round++) {
        await Promise.all([...tables, ...tables].map((table) => assertReads(table, coding)));
      }
    });

    test(`come whole and as they are while single items and pages are read (${coding})`, async () => {
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

  test('come whole and as they are while their items are written with the same words', async () => {
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

  test('come whole and as they are by pages', async () => {
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
  const came = (coding === 'gzip' ? gunzipSync(response.bytes) : response.bytes).toString();
  if (came === text) return;
  const at = [...text].findIndex((character, index) => came[index] !== character);
  assert.fail(`from byte ${at} on the response reads ${JSON.stringify(came.slice(at - 20, at + 40))}`);
}

/** Of several chunks and of items that are all of one size, so that one in the place of another would look right. */
async function makeTable(name: string): Promise<FilledTable> {
  const path = newTable();
  const items = Array.from({ length: 2_500 }, (_, index) => {
    const number = String(index).padStart(4, '0');
    return { id: `item-${number}`, name: `${name}${number}`.repeat(70) };
  });
  await fill(service, path, items);
  return { path, items, text: JSON.stringify({ statusCode: 200, body: items }) };
}

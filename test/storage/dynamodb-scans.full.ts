import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { scanSegments } from '../../src/storage/dynamodb/scans.ts';
import type { Engine, Space } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import { apiError, type Fault, unknownClient } from '../support/dynamodb/fault-proxy.ts';
import { type FaultyStore, openFaultyStore } from '../support/dynamodb/faulty-store.ts';

/** A table of 16 MB: about four pages of 1 MB in each of the segments of a parallel scan. */
const space: Space = 'table:large';
const itemsCount = 48;
const name = 'x'.repeat(350_000);

describe('scans on DynamoDB', () => {
  let store: FaultyStore;

  before(async () => {
    store = await openFaultyStore(['large']);
    for (let n = 0; n < itemsCount; n++)
      await store.direct.commit([{ kind: 'create', space, id: `item-${n}`, value: name, makeSpace: false }]);
  });
  after(() => store.close());

  /** The first scan of an engine is sequential; by it the engine learns that the table is large. */
  for (const [how, pagesMax] of [
    ['one page after the other', 2],
    ['in segments', scanSegments + 1],
  ] as const) {
    test(`reads one page of each segment ahead of a stalled reader, and no more: ${how}`, async () => {
      const chunks = await begin(store);
      await chunks.next();
      await settle(store);
      assert.equal(requestedPages.size, pagesMax);
      await chunks.return?.();
      await settle(store);
      assert.equal(requestedPages.size, pagesMax, 'more pages were requested after the reader had left');
    });

    test(`ignores a page that fails after the reader has left: ${how}`, async () => {
      const chunks = await begin(store, unknownClient);
      await chunks.next();
      await chunks.return?.();
      await settle(store);
    });

    for (const [what, fault] of [
      ['fails', unknownClient],
      ['finds that the table was deleted', apiError('ResourceNotFoundException')],
    ] as const) {
      test(`rejects a scan of which a later page ${what}: ${how}`, async () => {
        const chunks = await begin(store, fault);
        await assert.rejects(Array.fromAsync({ [Symbol.asyncIterator]: () => chunks }), {
          name: 'ServiceError',
          code: 'unavailable',
        });
      });
    }

    test(`reads every item once: ${how}`, async () => {
      store.proxy.script = () => undefined;
      const seen = await all(store.calm);
      assert.equal(seen.length, itemsCount);
      assert.equal(new Set(seen).size, itemsCount);
    });
  }

  test('reads a table with one page per segment in segments every time', async () => {
    const middling: Space = 'table:middling';
    for (let n = 0; n < 6; n++)
      await store.direct.commit([
        { kind: 'create', space: middling, id: `item-${n}`, value: name, makeSpace: true },
      ]);
    const segments: unknown[] = [];
    store.proxy.script = ({ operation, body }) => {
      if (operation === 'Scan' && body.TableName.endsWith('middling')) segments.push(body.TotalSegments);
      return undefined;
    };
    for (let time = 0; time < 3; time++) {
      segments.length = 0;
      const scan = await store.calm.scan(middling);
      assert.equal((await Array.fromAsync(itemsOf(scan?.chunks ?? []))).length, 6);
      if (time > 0) assert.ok(segments.includes(scanSegments), `read ${time} used ${segments} segments`);
    }
  });

  test('reads a page of a table with one scan request, and nothing ahead', async () => {
    store.proxy.reset();
    const page = await all(store.calm, { limit: 2 });
    assert.equal(page.length, 2);
    await settle(store);
    assert.equal(store.proxy.count('Scan'), 1);
  });

  test('sends few queries for a limited scan of a service space', async () => {
    for (let n = 0; n < 300; n += 100) {
      const writes = Array.from({ length: 100 }, (_, k) => {
        const id = `pay_${String(n + k).padStart(3, '0')}`;
        return { kind: 'create', space: 'service:payments', id, value: id, makeSpace: true } as const;
      });
      await store.direct.commit(writes);
    }
    store.proxy.reset();
    const ids: string[] = [];
    const scan = await store.calm.scan('service:payments', { limit: 10 });
    for await (const { id } of itemsOf(scan?.chunks ?? [])) ids.push(id);
    assert.deepEqual(
      ids,
      Array.from({ length: 10 }, (_, n) => `pay_00${n}`),
    );
    assert.ok(store.proxy.count('Query') <= 10, `${store.proxy.count('Query')} queries`);
  });
});

/** The pages that were requested, without repetitions. */
const requestedPages = new Set<string>();

/** @param fault the fault of every page except the first ones */
async function begin({ proxy, patient }: FaultyStore, fault?: Fault): Promise<AsyncIterator<Buffer>> {
  requestedPages.clear();
  proxy.script = ({ operation, body }) => {
    if (operation !== 'Scan') return undefined;
    requestedPages.add(JSON.stringify([body.Segment, body.ExclusiveStartKey]));
    return body.ExclusiveStartKey === undefined ? undefined : fault;
  };
  const chunks = (await patient.scan(space))?.chunks as AsyncIterable<Buffer>;
  return chunks[Symbol.asyncIterator]();
}

/** Waits until earlier requests have completed. */
async function settle({ patient }: FaultyStore): Promise<void> {
  for (let n = 0; n < 20; n++) await patient.get(space, `item-${n}`);
}

async function all(engine: Engine, options = {}): Promise<string[]> {
  const scan = await engine.scan(space, options);
  return (await Array.fromAsync(itemsOf(scan?.chunks ?? []))).map(({ id }) => id);
}

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { count } from '../support/extent.ts';
import {
  ask,
  assertSound,
  type Described,
  describedOperations,
  noLimits,
  textPlaces,
} from '../support/http/described-requests.ts';
import { startTestService, type TestService } from '../support/service.ts';

const corpora = join(import.meta.dirname, '../corpora');
const documents = readdirSync(join(corpora, 'json-parsing'))
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({ name, bytes: readFileSync(join(corpora, 'json-parsing', name)) }));
const naughty = JSON.parse(
  readFileSync(join(corpora, 'naughty-strings/blns.json'), 'utf8'),
) as readonly string[];
/** A short run tries every eighth text at each place, different ones at the next place. A long run tries all. */
const part = count({ short: 8, long: 1 });
/** Concurrent requests: client and service share this process. */
const concurrency = 16;

test('rejects every invalid document of the JSON corpus, at every operation with a body', async (t) => {
  const service = await startTestService(t, { env: noLimits });
  const operations = (await describedOperations(service)).filter(({ body }) => body !== undefined);
  assert.ok(documents.length > 300 && operations.length >= 10, 'all of them');
  for (const operation of operations) {
    await t.test(`${operation.method} ${operation.path}`, () =>
      each(documents, async ({ name, bytes }) => {
        const response = await ask(service, operation, {}, bytes);
        assertSound(response);
        // Some operations accept an empty body.
        if (name.startsWith('n_') && bytes.length > 0)
          assert.ok(rejections.includes(response.status), `${name}: ${response.text}`);
      }),
    );
  }
  assert.equal((await service.get('/readyz')).status, 200);
});

test('responds soundly to every naughty string in every field and parameter', async (t) => {
  const service = await startTestService(t, { env: noLimits });
  for (const operation of await describedOperations(service)) {
    await t.test(`${operation.method} ${operation.path}`, async () => {
      for (const { where, put } of operation.body === undefined ? [] : textPlaces(operation.body)) {
        await each(nextPart(naughty), async (text) => {
          const response = await ask(service, operation, {}, put(text));
          assertSound(response);
          assert.notEqual(response.json?.body?.error?.code, 'malformed_json', `${where}: ${text}`);
        });
      }
      await everyParameter(service, operation);
    });
  }
  assert.equal((await service.get('/readyz')).status, 200);
});

test('returns every naughty string unchanged, as an id and as a name', async (t) => {
  const service = await startTestService(t, { env: noLimits });
  const items = [...new Set(naughty)].map((text) => ({
    id: text === '' ? 'empty' : text,
    name: text,
  }));
  await each(items, async (item) => {
    const created = await service.post('/v3/table/naughty/create', item);
    assert.equal(created.status, 200, created.text);
    const found = await service.get(`/v3/table/naughty/read?id=${encodeURIComponent(item.id)}`);
    assert.deepEqual(found.json?.body, item);
  });
  const bytes = ({ id }: { readonly id: string }) => Buffer.from(id);
  const sorted = items.toSorted((one, other) => bytes(one).compare(bytes(other)));
  assert.deepEqual((await service.get('/v3/table/naughty/read')).json.body, sorted);
});

/** The statuses of a malformed body and of one that is too large. */
const rejections = [400, 413];
let places = 0;

function nextPart(texts: readonly string[]): string[] {
  const place = places++;
  return texts.filter((_, index) => (index + place) % part === 0);
}

async function everyParameter(service: TestService, operation: Described): Promise<void> {
  for (const { in: place, name } of operation.parameters) {
    // Skips the texts that no client can send.
    const sendable = naughty.filter((text) =>
      place === 'header' ? /^[\x20-\x7e\xa0-\xff]*$/.test(text) : text !== '' && !/^\.{1,2}$/.test(text),
    );
    await each(nextPart(sendable), async (text) =>
      assertSound(await ask(service, operation, { [name]: text }, undefined)),
    );
  }
}

async function each<Element>(
  elements: readonly Element[],
  act: (element: Element) => Promise<void>,
): Promise<void> {
  const left = elements.values();
  const workers = Array.from({ length: concurrency }, async () => {
    for (const element of left) await act(element);
  });
  await Promise.all(workers);
}

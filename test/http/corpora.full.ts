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
/** A run takes every eighth text at each place, at the next one others; the long run takes all. */
const part = count({ short: 8, long: 1 });
/** Requests at once: both ends are one process. */
const atOnce = 16;

test('takes no document of the JSON corpus for another one, at any operation with a body', async (t) => {
  const service = await startTestService(t, { env: noLimits });
  const operations = (await describedOperations(service)).filter(({ body }) => body !== undefined);
  assert.ok(documents.length > 300 && operations.length >= 10, 'all of them');
  for (const operation of operations) {
    await t.test(`${operation.method} ${operation.path}`, () =>
      each(documents, async ({ name, bytes }) => {
        const answer = await ask(service, operation, {}, bytes);
        assertSound(answer);
        // An empty body is none, which some operations take.
        if (name.startsWith('n_') && bytes.length > 0)
          assert.ok(rejections.includes(answer.status), `${name}: ${answer.text}`);
      }),
    );
  }
  assert.equal((await service.get('/readyz')).status, 200);
});

test('meets every naughty text in every field and parameter with an answer', async (t) => {
  const service = await startTestService(t, { env: noLimits });
  for (const operation of await describedOperations(service)) {
    await t.test(`${operation.method} ${operation.path}`, async () => {
      for (const { where, put } of operation.body === undefined ? [] : textPlaces(operation.body)) {
        await each(nextPart(naughty), async (text) => {
          const answer = await ask(service, operation, {}, put(text));
          assertSound(answer);
          assert.notEqual(answer.json?.body?.error?.code, 'malformed_json', `${where}: ${text}`);
        });
      }
      await everyParameter(service, operation);
    });
  }
  assert.equal((await service.get('/readyz')).status, 200);
});

test('gives every naughty text back as it came, as an id and as a name', async (t) => {
  const service = await startTestService(t, { env: noLimits });
  const items = [...new Set(naughty)].map((text) => ({
    id: text === '' ? 'empty' : text,
    name: text,
  }));
  await each(items, async (item) => {
    const created = await service.post('/v3/table/naughty/create', item);
    assert.equal(created.status, 200, created.text);
    const told = await service.get(`/v3/table/naughty/read?id=${encodeURIComponent(item.id)}`);
    assert.deepEqual(told.json?.body, item);
  });
  const bytes = ({ id }: { readonly id: string }) => Buffer.from(id);
  const sorted = items.toSorted((one, other) => bytes(one).compare(bytes(other)));
  assert.deepEqual((await service.get('/v3/table/naughty/read')).json.body, sorted);
});

/** Malformed, or larger than the operation takes. */
const rejections = [400, 413];
let places = 0;

function nextPart(texts: readonly string[]): string[] {
  const place = places++;
  return texts.filter((_, index) => (index + place) % part === 0);
}

async function everyParameter(service: TestService, operation: Described): Promise<void> {
  for (const { in: place, name } of operation.parameters) {
    // What no client can send is left out.
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
  const workers = Array.from({ length: atOnce }, async () => {
    for (const element of left) await act(element);
  });
  await Promise.all(workers);
}

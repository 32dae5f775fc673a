import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../support/http/error-response.ts';
import { exchange, requestText } from '../support/http/raw-http.ts';
import { newTable, startSharedService } from '../support/tables/shared-service.ts';

const service = await startSharedService();
const failed = { status: 412, code: 'precondition_failed' };

/** The two operations that take a condition, on item `a`. */
const operations = [
  { method: 'PUT', operation: 'update', body: { id: 'a', name: 'new' } },
  { method: 'DELETE', operation: 'delete', body: { id: 'a' } },
] as const;

for (const { method, operation, body } of operations) {
  test(`${operation} succeeds while the item has one of the tags in If-Match`, async () => {
    const table = await tableWithA();
    const path = `${table}/${operation}`;
    for (const written of [
      (tag: string) => tag,
      (tag: string) => `  ${tag} `,
      (tag: string) => `"x", ${tag}`,
      (tag: string) => `${tag},"x"`,
      (tag: string) => `W/"x" ,\t${tag} , ""`,
      () => '*',
    ]) {
      const tag = await tagOf(table);
      const done = await service.send(method, path, body, { 'if-match': written(tag) });
      assert.equal(done.status, 200, `${written(tag)}: ${done.text}`);
      await putBack(table);
    }
  });

  test(`${operation} is rejected with 412 under every other tag, and changes nothing`, async () => {
    const table = await tableWithA();
    const path = `${table}/${operation}`;
    await service.post(`${table}/create`, { id: 'b', name: 'Alpha' });
    const tag = await tagOf(table);
    const opaque = tag.slice(1, -1);
    const tagOfOther = (await service.get(`${table}/read?id=b`)).headers.get('etag') as string;
    const tagOfTable = (await service.get(`${table}/read`)).headers.get('etag') as string;
    await service.send('PUT', `${table}/update`, { id: 'a', name: 'in between' });
    const stale = await tagOf(table);
    await putBack(table);
    await service.send('PUT', `${table}/update`, { id: 'b', name: 'Beta' });
    assert.equal(await tagOf(table), tag, 'the same content has the same tag');
    for (const written of [
      ...[
        '"x"',
        '""',
        stale,
        tagOfOther,
        tagOfTable,
        `"${opaque.slice(0, -1)}"`,
        `"${opaque}0"`,
        `"${opaque}-gzip"`,
      ],
      ...[`W/${tag}`, `W/${tag}, "x"`, `"x", W/${tag}`, '"*"', `"W/${opaque}"`],
    ]) {
      const rejected = await service.send(method, path, body, { 'if-match': written });
      assertError(rejected, failed);
      assert.deepEqual(Object.keys(rejected.json.body), ['message', 'error']);
      assert.equal(rejected.json.body.message, rejected.json.body.error.message);
    }
    const read = await service.get(`${table}/read`);
    assert.deepEqual(read.json.body, [
      { id: 'a', name: 'Alpha' },
      { id: 'b', name: 'Beta' },
    ]);
  });

  test(`${operation} is rejected with 400 when If-Match is malformed, and changes nothing`, async () => {
    const table = await tableWithA();
    const path = `${table}/${operation}`;
    const tag = await tagOf(table);
    const opaque = tag.slice(1, -1);
    for (const written of [
      ...[
        opaque,
        `'${opaque}'`,
        `"${opaque}`,
        `${opaque}"`,
        `${tag} ${tag}`,
        `${tag};`,
        `w/${tag}`,
        `W/ ${tag}`,
      ],
      ...[
        '',
        ' ',
        '**',
        '*, *',
        `*, ${tag}`,
        `${tag}, *`,
        `${tag}, x`,
        'W/*',
        '"a"b"',
        `"${opaque} "x`,
        'null',
      ],
    ]) {
      const headers = { 'Content-Type': 'application/json', 'If-Match': written };
      const request = requestText(service.origin, `${method} ${path}`, headers, JSON.stringify(body));
      const rejected = await exchange(service.origin, request);
      assertError(rejected, { status: 400, code: 'invalid_request', param: 'If-Match' });
      assert.equal(rejected.json.body.message, rejected.json.body.error.message);
    }
    assert.equal(await tagOf(table), tag);
  });

  test(`${operation} joins the tags of two If-Match headers into one list`, async () => {
    const table = await tableWithA();
    const path = `${table}/${operation}`;
    const lines = (one: string, other: string) =>
      requestText(
        service.origin,
        `${method} ${path}`,
        { 'Content-Type': 'application/json', 'If-Match': one, 'if-match': other },
        JSON.stringify(body),
      );
    const tag = await tagOf(table);
    assertError(await exchange(service.origin, lines('"x"', '"y"')), failed);
    assertError(await exchange(service.origin, lines('"x"', `W/${tag}`)), failed);
    assert.equal((await exchange(service.origin, lines('"x"', tag))).status, 200);
    await putBack(table);
    assert.equal((await exchange(service.origin, lines(tag, '"x"'))).status, 200);
  });

  test(`${operation} of a missing item or table returns 404 for any condition, and creates nothing`, async () => {
    const table = await tableWithA();
    const path = `${table}/${operation}`;
    const tag = await tagOf(table);
    for (const written of ['*', '"x"', tag, `W/${tag}`]) {
      const noItem = await service.send(method, path, { ...body, id: 'b' }, { 'if-match': written });
      assertError(noItem, { status: 404, code: 'item_not_found', param: 'id' });
      const noTable = await service.send(method, `/v3/table/none/${operation}`, body, {
        'if-match': written,
      });
      assertError(noTable, { status: 404, code: 'table_not_found', param: 'TABLE_NAME' });
    }
    assertError(await service.get('/v3/table/none/read'), { status: 404, code: 'table_not_found' });
    assert.deepEqual((await service.get(`${table}/read`)).json.body, [{ id: 'a', name: 'Alpha' }]);
  });

  test(`${operation} by many callers with the same tag succeeds once`, async () => {
    const table = await tableWithA();
    const path = `${table}/${operation}`;
    for (let round = 0; round < 3; round++) {
      const headers = { 'if-match': await tagOf(table) };
      const responses = await Promise.all(
        Array.from({ length: 24 }, (_, n) =>
          service.send(method, path, method === 'PUT' ? { id: 'a', name: `${round}.${n}` } : body, headers),
        ),
      );
      const winners = responses.flatMap(({ status }, n) => (status === 200 ? [n] : []));
      assert.equal(winners.length, 1);
      // A deleted item has no tag.
      const others = method === 'PUT' ? [412] : [412, 404];
      assert.ok(responses.every(({ status }) => status === 200 || others.includes(status)));
      if (method === 'PUT')
        assert.equal((await service.get(`${table}/read?id=a`)).json.body.name, `${round}.${winners[0]}`);
      await putBack(table);
    }
  });
}

test('loses no increment of callers who read, add one, and write with If-Match', async () => {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: '0' });
  const callers = 6;
  const increments = 5;
  const count = async () => {
    for (let done = 0; done < increments; ) {
      const read = await service.get(`${table}/read?id=a`);
      const name = String(Number(read.json.body.name) + 1);
      const headers = { 'if-match': read.headers.get('etag') as string };
      const { status } = await service.send('PUT', `${table}/update`, { id: 'a', name }, headers);
      assert.ok(status === 200 || status === 412, `returned ${status}`);
      if (status === 200) done++;
    }
  };
  await Promise.all(Array.from({ length: callers }, count));
  assert.equal((await service.get(`${table}/read?id=a`)).json.body.name, String(callers * increments));
});

test('returns the tag of an item to HEAD too', async () => {
  const table = await tableWithA();
  const head = await service.send('HEAD', `${table}/read?id=a`);
  assert.equal(head.headers.get('etag'), await tagOf(table));
});

/** RFC 9110, 13.1.1: `*` is true whenever the item exists, whatever others write to it meanwhile. */
test('updates under "*" all succeed while many callers update the same item at once', async () => {
  const table = await tableWithA();
  const names = Array.from({ length: 200 }, (_, n) => `name ${n}`);
  const outcomes = await Promise.all(
    names.map((name) => service.send('PUT', `${table}/update`, { id: 'a', name }, { 'if-match': '*' })),
  );
  assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set([200]));
  const { json } = await service.get(`${table}/read?id=a`);
  assert.ok(names.includes(json.body.name), 'the last update stands');
});

async function tableWithA(): Promise<string> {
  const table = newTable();
  await service.post(`${table}/create`, { id: 'a', name: 'Alpha' });
  return table;
}

/** Restores item `a` after it was updated or deleted. */
async function putBack(table: string): Promise<void> {
  const item = { id: 'a', name: 'Alpha' };
  const updated = await service.send('PUT', `${table}/update`, item);
  if (updated.status === 404) await service.post(`${table}/create`, item);
}

async function tagOf(table: string): Promise<string> {
  return (await service.get(`${table}/read?id=a`)).headers.get('etag') as string;
}

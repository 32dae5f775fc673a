import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Counterfoil } from '../../client/src/index.ts';
import { audited } from '../../src/audit/audit.ts';
import { AuditReader, auditStretchActsMax } from '../../src/audit/audit-page.ts';
import { commitWritesMax } from '../../src/storage/limits.ts';
import { bearing, everyScope, idWithin, startServiceWithKeys } from '../support/access/keys.ts';
import { signInToConsole } from '../support/console/sign-in.ts';
import { assertError } from '../support/http/error-response.ts';
import { newDataFolder, openStoreOf, startTestService } from '../support/service.ts';

const path = '/v3/audit';
const now = Date.parse('2026-11-21T10:00:00.000Z');
const yearMs = 365 * 24 * 60 * 60 * 1_000;

test('only an administrator reads the audit trail; it names who acted, and contains no secret', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    other: { scopes: everyScope },
  });
  assertError(await service.get(path), { status: 401, code: 'unauthenticated' });
  assertError(await service.get(path, bearing(keys.other)), { status: 403, code: 'forbidden' });
  const { headers, response } = await signInToConsole(service, keys.admin);
  await service.post('/v3/table/books/create', { id: 'emma', name: 'Jane Austen' }, headers);
  const read = await service.get(path, bearing(keys.admin));
  assert.equal(read.status, 200, read.text);
  const by = `key:${idWithin(keys.admin)}`;
  const [requested, signedIn, ...made] = read.json.body;
  assert.deepEqual(
    [requested.what, requested.on, requested.by],
    ['console.requested', 'POST /v3/table/books/create', by],
  );
  assert.match(requested.id, /^act_[0-9a-f]{32}$/);
  assert.deepEqual(
    [signedIn.what, signedIn.by, signedIn.request_id],
    ['console.signed_in', by, response.headers.get('request-id')],
  );
  assert.deepEqual(
    made.map(({ what, by, request_id }: Record<string, unknown>) => [what, by, request_id]),
    [
      ['secrets.key_noted', 'service', null],
      ['key.created', 'cli', null],
      ['key.created', 'cli', null],
    ],
  );
  for (const secret of [keys.admin.split('.')[1], headers.cookie?.split('=')[1]])
    assert.ok(secret !== undefined && !read.text.includes(secret));
});

test('pages go back from the newest act to the oldest one, each act once', async (t) => {
  const times = [now + yearMs, now - 1, now - 1, now - 1, now - 2 * yearMs, now - 50 * yearMs];
  const { service, ids } = await startWithActs(t, times);
  const { audit } = new Counterfoil({ url: service.origin });
  for (const limit of [1, 2, 3, 5, 6, 100]) {
    const found: string[] = [];
    let after: string | undefined;
    let pages = 0;
    do {
      const page = await audit.list({ limit, ...(after === undefined ? {} : { after }) });
      assert.ok(page.acts.length > 0 && page.acts.length <= limit);
      found.push(...page.acts.map(({ id }) => id));
      after = page.next;
      pages++;
      assert.ok(pages <= ids.length, 'the pages come to an end');
    } while (after !== undefined);
    assert.deepEqual(found, ids);
    assert.equal(pages, Math.ceil(ids.length / limit));
  }
});

test('without acts there is one empty page', async (t) => {
  const engine = await openStoreOf(newDataFolder(t));
  const page = await new AuditReader(engine, () => now).page(100);
  await engine.close();
  assert.deepEqual(page, { acts: [], next: undefined });
});

test('an invalid page is rejected', async (t) => {
  const { get } = await startTestService(t);
  for (const after of ['x', 'act_', `act_${'g'.repeat(32)}`, `act_${'0'.repeat(33)}`]) {
    const response = await get(`${path}?after=${after}`);
    assertError(response, { status: 400, code: 'invalid_request', param: 'after' });
  }
  for (const limit of ['0', '101', 'x', '1.5'])
    assertError(await get(`${path}?limit=${limit}`), {
      status: 400,
      code: 'invalid_request',
      param: 'limit',
    });
});

test('finds the newest acts among many more than it reads at once: of one millisecond, of a busy hour, of a clock ahead', async (t) => {
  const bursts = [
    Array.from({ length: auditStretchActsMax + 50 }, () => now - 10),
    Array.from({ length: 1.5 * auditStretchActsMax }, (_, index) => now - 60_000 - index * 100),
    Array.from({ length: auditStretchActsMax + 50 }, (_, index) => now + yearMs + index),
  ];
  for (const times of bursts) {
    const engine = await openStoreOf(newDataFolder(t));
    try {
      const ids = await addActs(engine, times);
      const reader = new AuditReader(engine, () => now);
      const first = await reader.page(100);
      assert.deepEqual(
        first.acts.map(({ id }) => id),
        ids.slice(0, 100),
      );
      const second = await reader.page(100, first.next);
      assert.deepEqual(
        second.acts.map(({ id }) => id),
        ids.slice(100, 200),
      );
      const last = await reader.page(100, ids.at(-51) as string);
      assert.deepEqual(last, { acts: last.acts, next: undefined });
      assert.deepEqual(
        last.acts.map(({ id }) => id),
        ids.slice(-50),
      );
    } finally {
      await engine.close();
    }
  }
});

/** A service with acts of these times, and their ids, newest first. */
async function startWithActs(t: TestContext, times: readonly number[]) {
  const data = newDataFolder(t);
  const engine = await openStoreOf(data);
  const ids = await addActs(engine, times);
  await engine.close();
  const service = await startTestService(t, { data, now: () => now });
  const { json } = await service.get(path);
  // The first start notes its master key.
  const [noted] = json.body.filter(({ what }: { what: string }) => what === 'secrets.key_noted');
  return { service, ids: [...ids, noted.id].sort().reverse() };
}

async function addActs(
  engine: Awaited<ReturnType<typeof openStoreOf>>,
  times: readonly number[],
): Promise<readonly string[]> {
  const writes = times.map((time) => audited({ what: 'key.created', on: 'x', by: 'cli' }, time));
  for (let index = 0; index < writes.length; index += commitWritesMax)
    assert.equal(await engine.commit(writes.slice(index, index + commitWritesMax)), undefined);
  return writes
    .map(({ id }) => id)
    .sort()
    .reverse();
}

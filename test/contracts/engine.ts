import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { Engine, Space, Write } from '../../src/storage/engine.ts';
import { type Item, itemsOf } from '../../src/storage/item-text.ts';
import { commitWritesMax, itemIdBytesMax } from '../../src/storage/limits.ts';
import { itemBytesMax } from '../../src/tables/table-item.ts';

export interface EngineUnderTest {
  /** Opens an engine on a new store, or on the store of an engine that was closed. */
  readonly open: (store: string) => Promise<Engine>;
  /** A new, empty store, removed after the test. */
  readonly newStore: (t: TestContext) => string;
}

const books: Space = 'table:books';
const create = (id: string, value: string, space: Space = books): Write => ({
  kind: 'create',
  space,
  id,
  value,
  makeSpace: true,
});

/** What every engine promises (src/storage/engine.ts); each adapter runs it unchanged. */
export function testEngineContract(name: string, { open, newStore }: EngineUnderTest): void {
  const promise = (title: string, check: (engine: Engine, t: TestContext) => Promise<void>) =>
    test(`${name}: ${title}`, async (t) => {
      const engine = await open(newStore(t));
      try {
        await check(engine, t);
      } finally {
        await engine.close();
      }
    });

  promise('returns what was created, and undefined for a missing item', async (engine) => {
    assert.equal(await engine.get(books, 'a'), undefined);
    assert.equal(await engine.scan(books), undefined);
    assert.equal(await engine.commit([create('a', 'Alpha')]), undefined);
    assert.equal(await engine.get(books, 'a'), 'Alpha');
    assert.equal(await engine.get('table:other', 'a'), undefined);
    assert.deepEqual(await all(engine, books), [{ id: 'a', name: 'Alpha' }]);
  });

  promise('rejects a create of an existing id, and changes nothing', async (engine) => {
    await engine.commit([create('a', 'first')]);
    assert.deepEqual(await engine.commit([create('a', 'second')]), { write: 0, reason: 'exists' });
    assert.equal(await engine.get(books, 'a'), 'first');
  });

  promise('creates a missing space only on request', async (engine) => {
    const strict: Write = { ...create('a', 'Alpha'), makeSpace: false } as Write;
    assert.deepEqual(await engine.commit([strict]), { write: 0, reason: 'space_missing' });
    assert.equal(await engine.scan(books), undefined);
    await engine.commit([create('b', 'Beta')]);
    assert.equal(await engine.commit([strict]), undefined);
  });

  promise('creates a missing table in one commit with the first item of a service space', async (engine) => {
    assert.equal(await engine.commit([create('a', '1', 'service:payments'), create('a', '2')]), undefined);
    assert.equal(await engine.get('service:payments', 'a'), '1');
    assert.equal(await engine.get(books, 'a'), '2');
  });

  promise(
    'puts an item, whether it exists or not, and makes a missing space only on request',
    async (engine) => {
      const put = (value: string, makeSpace: boolean): Write =>
        ({ ...create('a', value), kind: 'put', makeSpace }) as Write;
      assert.deepEqual(await engine.commit([put('1', false)]), { write: 0, reason: 'space_missing' });
      assert.equal(await engine.scan(books), undefined);
      assert.equal(await engine.commit([put('1', true)]), undefined);
      assert.equal(await engine.get(books, 'a'), '1');
      assert.equal(await engine.commit([put('2', false)]), undefined);
      assert.deepEqual(await all(engine, books), [{ id: 'a', name: '2' }]);
      assert.deepEqual(await engine.commit([{ ...put('3', false), id: 'b' }, create('a', '3')]), {
        write: 1,
        reason: 'exists',
      });
      assert.equal(await engine.get(books, 'b'), undefined);
      assert.deepEqual(
        await engine.commit([{ ...put('3', true), space: 'table:fresh' }, create('b', '3')]),
        undefined,
      );
      assert.equal(await engine.get('table:fresh', 'a'), '3');
    },
  );

  promise('scans the items of a table whose ids begin with a text', async (engine) => {
    const ids = ['a', 'ab', 'ab\u0000', 'abc', 'ab\u{10ffff}', 'ac', 'b', 'é', 'éa', 'ê'];
    await engine.commit(ids.map((id) => create(id, id)));
    const read = async (options: object) => (await all(engine, books, options)).map(({ id }) => id);
    const expected = ['ab', 'ab\u0000', 'abc', 'ab\u{10ffff}'];
    const found = await read({ prefix: 'ab' });
    assert.deepEqual(found.toSorted(), expected.toSorted());
    if (engine.reads === 'snapshot') assert.deepEqual(found, expected);
    assert.deepEqual((await read({ prefix: 'é' })).toSorted(), ['é', 'éa']);
    assert.deepEqual(await read({ prefix: 'x' }), []);
    assert.deepEqual(await read({ prefix: 'abcd' }), []);
    const paged: string[] = [];
    for (;;) {
      const after = paged.at(-1);
      const page = await read({ prefix: 'ab', limit: 1, ...(after === undefined ? {} : { after }) });
      if (page.length === 0) break;
      paged.push(...page);
    }
    assert.deepEqual(paged, found);
  });

  promise('counts the items of a table', async (engine) => {
    assert.equal(await engine.count(books), undefined);
    const large = 'x'.repeat(100_000);
    for (let n = 0; n < 15; n++) await engine.commit([create(`n${n}`, large)]);
    assert.equal(await engine.count(books), 15);
    await engine.commit([{ kind: 'delete', space: books, id: 'n1' }]);
    assert.equal(await engine.count(books), 14);
  });

  promise('removes a table without items, or keeps it empty, and no other table', async (engine) => {
    assert.equal(await engine.removeSpace(books), 'missing');
    await engine.commit([create('a', '1'), create('a', '1', 'table:book')]);
    assert.equal(await engine.removeSpace(books), 'not_empty');
    assert.equal(await engine.get(books, 'a'), '1');
    await engine.commit([{ kind: 'delete', space: books, id: 'a' }]);
    const removal = await engine.removeSpace(books);
    assert.equal(removal, engine.reads === 'snapshot' ? 'removed' : 'kept');
    if (removal === 'kept') assert.deepEqual(await all(engine, books), []);
    else {
      assert.equal(await engine.scan(books), undefined);
      assert.equal(await engine.describe(books), undefined);
      assert.deepEqual(await engine.spaces(), ['table:book']);
      assert.equal(await engine.removeSpace(books), 'missing');
      assert.deepEqual(await engine.commit([{ ...create('b', '2'), makeSpace: false } as Write]), {
        write: 0,
        reason: 'space_missing',
      });
    }
    await engine.commit([create('b', '2')]);
    assert.deepEqual(await all(engine, books), [{ id: 'b', name: '2' }]);
    assert.equal(await engine.count(books), 1);
  });

  promise('replaces an existing item, and only while it has the expected value', async (engine) => {
    const replace: Write = { kind: 'replace', space: books, id: 'a', value: 'new' };
    assert.deepEqual(await engine.commit([replace]), { write: 0, reason: 'missing' });
    await engine.commit([create('a', 'old')]);
    assert.deepEqual(await engine.commit([{ ...replace, ifValue: 'other' }]), {
      write: 0,
      reason: 'differs',
    });
    assert.equal(await engine.get(books, 'a'), 'old');
    assert.equal(await engine.commit([{ ...replace, ifValue: 'old' }]), undefined);
    assert.equal(await engine.get(books, 'a'), 'new');
  });

  promise(
    'deletes an existing item, and only while it has the expected value; the space stays',
    async (engine) => {
      const remove: Write = { kind: 'delete', space: books, id: 'a' };
      assert.deepEqual(await engine.commit([remove]), { write: 0, reason: 'missing' });
      await engine.commit([create('a', 'old')]);
      assert.deepEqual(await engine.commit([{ ...remove, ifValue: 'other' }]), {
        write: 0,
        reason: 'differs',
      });
      assert.equal(await engine.commit([{ ...remove, ifValue: 'old' }]), undefined);
      assert.equal(await engine.get(books, 'a'), undefined);
      assert.deepEqual(await all(engine, books), []);
    },
  );

  promise(
    'checks an item without changing it, and rejects the commit if it has another value',
    async (engine) => {
      const check: Write = { kind: 'check', space: 'table:prices', id: 'a', ifValue: '100' };
      const made = create('one', '1', 'service:payments');
      assert.deepEqual(await engine.commit([made, check]), { write: 1, reason: 'missing' });
      await engine.commit([create('a', '100', 'table:prices')]);
      const before = await engine.describe('table:prices');
      assert.deepEqual(await engine.commit([made, { ...check, ifValue: '99' }]), {
        write: 1,
        reason: 'differs',
      });
      assert.deepEqual(await engine.commit([made, { ...check, id: 'b' }]), { write: 1, reason: 'missing' });
      assert.equal(await engine.get('service:payments', 'one'), undefined);
      assert.equal(await engine.commit([made, check]), undefined);
      assert.equal(await engine.get('service:payments', 'one'), '1');
      assert.equal(await engine.get('table:prices', 'a'), '100');
      assert.deepEqual(await engine.describe('table:prices'), before);
      assert.equal(await engine.commit([check]), undefined);
      assert.deepEqual(await engine.commit([{ ...check, ifValue: '' }]), { write: 0, reason: 'differs' });
    },
  );

  promise('checks that there is no item, and rejects the commit if there is one', async (engine) => {
    const check: Write = { kind: 'check', space: 'service:sessions', id: 'a', ifValue: null };
    const made = (id: string) => create(id, '1', 'service:payments');
    assert.equal(await engine.commit([made('one'), check]), undefined);
    assert.equal(await engine.commit([check]), undefined);
    await engine.commit([create('a', '', 'service:sessions')]);
    assert.deepEqual(await engine.commit([made('two'), check]), { write: 1, reason: 'exists' });
    assert.deepEqual(await engine.commit([check]), { write: 0, reason: 'exists' });
    assert.equal(await engine.get('service:payments', 'two'), undefined);
    await engine.commit([{ kind: 'delete', space: 'service:sessions', id: 'a' }]);
    assert.equal(await engine.commit([made('two'), check]), undefined);
  });

  promise(
    'of two concurrent commits that each make what the other one checks is absent, one wins',
    async (engine) => {
      for (let n = 0; n < 20; n++) {
        const [one, other] = [`absent-${n}`, `missing-${n}`];
        const check = (id: string): Write => ({ kind: 'check', space: books, id, ifValue: null });
        const outcomes = await Promise.all([
          engine.commit([check(one), create(other, '1')]),
          engine.commit([check(other), create(one, '1')]),
        ]);
        const rejected = outcomes.filter((outcome) => outcome !== undefined);
        assert.deepEqual(rejected, [{ write: 0, reason: 'exists' }]);
      }
    },
  );

  promise(
    'of two concurrent commits that each change what the other one checks, one wins',
    async (engine) => {
      const check = (id: string): Write => ({ kind: 'check', space: books, id, ifValue: '0' });
      const raise = (id: string): Write => ({ kind: 'replace', space: books, id, value: '1' });
      for (let n = 0; n < 20; n++) {
        const [one, other] = [`one-${n}`, `other-${n}`];
        await engine.commit([create(one, '0'), create(other, '0')]);
        const outcomes = await Promise.all([
          engine.commit([check(one), raise(other)]),
          engine.commit([check(other), raise(one)]),
        ]);
        const rejected = outcomes.filter((outcome) => outcome !== undefined);
        assert.deepEqual(rejected, [{ write: 0, reason: 'differs' }]);
      }
    },
  );

  promise('commits all writes, across spaces, or none', async (engine) => {
    await engine.commit([create('taken', 'x')]);
    const rejected = await engine.commit([
      create('one', '1', 'service:payments'),
      create('two', '2', 'table:fresh'),
      create('taken', '3'),
    ]);
    assert.deepEqual(rejected, { write: 2, reason: 'exists' });
    assert.equal(await engine.get('service:payments', 'one'), undefined);
    assert.equal(await engine.scan('table:fresh'), undefined);
    assert.equal(
      await engine.commit([create('one', '1', 'service:payments'), create('two', '2', 'table:fresh')]),
      undefined,
    );
    assert.equal(await engine.get('table:fresh', 'two'), '2');
    const many = Array.from({ length: commitWritesMax }, (_, n) => create(`n${n}`, String(n), 'table:many'));
    assert.equal(await engine.commit(many), undefined);
    assert.equal((await all(engine, 'table:many')).length, commitWritesMax);
    await assert.rejects(engine.commit([...many, create('more', '')]), RangeError);
    await assert.rejects(engine.commit([]), RangeError);
  });

  promise('lets exactly one of 64 concurrent creates of an id win', async (engine) => {
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, n) => engine.commit([create('a', String(n))])),
    );
    const winners = outcomes.flatMap((outcome, n) => (outcome === undefined ? [n] : []));
    assert.equal(winners.length, 1);
    assert.equal(await engine.get(books, 'a'), String(winners[0]));
  });

  promise('shows a commit to every read that begins after it', async (engine) => {
    await engine.commit([create('a', '0')]);
    for (let n = 1; n <= 50; n++) {
      await engine.commit([{ kind: 'replace', space: books, id: 'a', value: String(n) }]);
      assert.equal(await engine.get(books, 'a'), String(n));
      assert.deepEqual(await all(engine, books), [{ id: 'a', name: String(n) }]);
    }
  });

  promise('scans in the order of the UTF-8 bytes of the ids', async (engine) => {
    // In UTF-16 order the last two would be swapped.
    const ids = ['', 'A', 'a', 'aa', 'b', 'é', '\uffee', '\u{1f600}'].slice(1);
    const space = orderedSpace(engine);
    for (const id of [...ids].reverse()) await engine.commit([create(id, id, space)]);
    assert.deepEqual(
      (await all(engine, space)).map((item) => item.id),
      ids,
    );
  });

  promise('scans after an id, up to a limit', async (engine) => {
    const space = orderedSpace(engine);
    for (const id of ['a', 'b', 'c', 'd']) await engine.commit([create(id, id, space)]);
    const ids = async (options: object) => (await all(engine, space, options)).map((item) => item.id);
    assert.deepEqual(await ids({ after: 'b' }), ['c', 'd']);
    assert.deepEqual(await ids({ after: 'bb', limit: 1 }), ['c']);
    assert.deepEqual(await ids({ limit: 2 }), ['a', 'b']);
    assert.deepEqual(await ids({ after: 'd' }), []);
  });

  promise('returns every item of a table once, page by page', async (engine) => {
    const ids = Array.from({ length: 25 }, (_, n) => `id-${n}`);
    await engine.commit(ids.map((id) => create(id, id)));
    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const items = await all(engine, books, { limit: 4, ...(after === undefined ? {} : { after }) });
      seen.push(...items.map(({ id }) => id));
      if (items.length < 4) break;
      after = items.at(-1)?.id;
    }
    assert.deepEqual(seen.sort(), ids.sort());
  });

  promise('keeps a space of time-ordered ids in order on every kind of store', async (engine) => {
    const space: Space = 'service:payments';
    const ids = Array.from({ length: 300 }, (_, n) => `pay_${String(n).padStart(4, '0')}`);
    for (let n = 0; n < 300; n += 100)
      await engine.commit(ids.slice(n, n + 100).map((id) => create(id, id, space)));
    const read = async (options: object) => (await all(engine, space, options)).map(({ id }) => id);
    assert.deepEqual(await read({}), ids);
    assert.deepEqual(await read({ after: 'pay_0149', limit: 3 }), ['pay_0150', 'pay_0151', 'pay_0152']);
  });

  promise('separates spaces whose names and ids have a common prefix', async (engine) => {
    await engine.commit([create('b', '1', 'table:a')]);
    await engine.commit([create('x', '2', 'table:ab')]);
    await engine.commit([create('payments', '4', 'table:service')]);
    assert.deepEqual(await all(engine, 'table:a'), [{ id: 'b', name: '1' }]);
    assert.equal(await engine.scan('service:payments'), undefined);
    assert.deepEqual([...(await engine.spaces())].sort(), ['table:a', 'table:ab', 'table:service']);
  });

  promise('confirms that it is writable, without a write', async (engine) => {
    const before = await engine.spaces();
    await engine.checkWritable();
    assert.deepEqual(await engine.spaces(), before);
  });

  promise('stores the longest ids and the largest items', async (engine) => {
    // An engine that adds a prefix to the name accepts a shorter name.
    const space: Space = `table:${'t'.repeat(engine.reads === 'snapshot' ? 255 : 200)}`;
    const longest = ['x'.repeat(itemIdBytesMax), `${'x'.repeat(itemIdBytesMax - 1)}y`];
    for (const id of longest) assert.equal(await engine.commit([create(id, id, space)]), undefined);
    for (const id of longest) assert.equal(await engine.get(space, id), id);
    // DynamoDB counts the names of the attributes too, and the operation id.
    const large = '\u0001"é'.repeat(itemBytesMax / 4 - 32);
    await engine.commit([create('large', large)]);
    assert.equal(await engine.get(books, 'large'), large);
    assert.deepEqual(await all(engine, books), [{ id: 'large', name: large }]);
  });

  promise('returns every string unchanged', async (engine) => {
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((value) => value.isWellFormed());
    let count = 0;
    await fc.assert(
      fc.asyncProperty(text, text, async (id, value) => {
        const unique = `${count++}${id}`;
        assert.equal(await engine.commit([create(unique, value)]), undefined);
        assert.equal(await engine.get(books, unique), value);
      }),
      { numRuns: 100 },
    );
    assert.equal((await all(engine, books)).length, count);
  });

  promise('scans a consistent snapshot during writes', async (engine, t) => {
    if (engine.reads === 'pages') return t.skip('its scans read pages at different times');
    const pair = (value: string): Write[] => [
      { kind: 'replace', space: books, id: 'first', value },
      { kind: 'replace', space: books, id: 'last', value },
    ];
    // Items between the two make the scan several chunks long.
    const filler = 'f'.repeat(50_000);
    await engine.commit([create('first', '0'), create('last', '0')]);
    for (let n = 0; n < 6; n++) await engine.commit([create(`g${n}`, filler)]);
    const writing = (async () => {
      for (let n = 1; n <= 40; n++) await engine.commit(pair(String(n)));
    })();
    for (let n = 0; n < 20; n++) {
      const items = await all(engine, books, {}, () => new Promise((resolve) => setTimeout(resolve, 1)));
      const value = (id: string) => items.find((item) => item.id === id)?.name;
      assert.equal(value('first'), value('last'));
    }
    await writing;
  });

  test(`${name}: has every commit when it is opened again`, async (t) => {
    const store = newStore(t);
    const before = await open(store);
    const ids = Array.from({ length: 300 }, (_, n) => `id-${n}`);
    const writing = Promise.all(ids.map((id) => before.commit([create(id, id)])));
    // Closing completes the accepted commits.
    await before.close();
    await writing;
    const after = await open(store);
    try {
      assert.deepEqual((await all(after, books)).map((item) => item.id).sort(), [...ids].sort());
    } finally {
      await after.close();
    }
  });

  promise('scans two large spaces alternately', async (engine) => {
    const spaces = ['table:left', 'table:right'] as const;
    const count = engine.reads === 'snapshot' ? 4_000 : 1_000;
    for (const space of spaces) {
      for (let n = 0; n < count; n += 100) {
        const writes = Array.from({ length: 100 }, (_, k) =>
          create(`${n + k}`, `${space} ${'x'.repeat(200)}`, space),
        );
        await engine.commit(writes);
      }
    }
    const pause = () => new Promise((resolve) => setImmediate(resolve));
    const [left, right, again] = await Promise.all(
      [...spaces, spaces[0]].map((space) => all(engine, space, {}, pause)),
    );
    const sorted = (items: readonly Item[] = []) => items.map(({ id }) => id).sort();
    assert.deepEqual(sorted(again), sorted(left));
    for (const [n, items] of [left, right].entries()) {
      assert.equal(items?.length, count);
      assert.ok(items.every(({ name }) => name.startsWith(spaces[n] as string)));
    }
  });
}

/** A space that every engine scans in the order of the ids. */
function orderedSpace({ reads }: Engine): Space {
  return reads === 'snapshot' ? books : 'service:integrations';
}

async function all(
  engine: Engine,
  space: Space,
  options = {},
  pause: () => Promise<unknown> = async () => undefined,
) {
  const chunks = (await engine.scan(space, options))?.chunks;
  assert.notEqual(chunks, undefined, `${space} is missing`);
  async function* paused() {
    for await (const chunk of chunks ?? []) {
      yield chunk;
      await pause();
    }
  }
  return Array.fromAsync(itemsOf(paused()));
}

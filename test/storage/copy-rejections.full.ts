import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { copyStore, type NamedEngine } from '../../src/storage/copying/copy.ts';
import type { Space, Write } from '../../src/storage/engine.ts';
import { randomFrom } from '../support/random.ts';
import {
  type Content,
  contentOf,
  fill,
  items,
  Killed,
  MortalEngine,
  newStore,
} from '../support/storage/copied-stores.ts';

const books: Space = 'table:books';

async function stores(t: TestContext, content: Content, kind: 'LMDB' | 'DynamoDB' = 'LMDB') {
  const [source, target] = [await newStore(t, 'LMDB'), await newStore(t, kind)];
  await fill(source, content);
  return { source, target };
}

/** Copies until the target has made `commits` commits. */
async function copyInPart(source: NamedEngine, target: NamedEngine, commits: number): Promise<void> {
  const { engine } = new MortalEngine(target.engine, commits, randomFrom(1));
  await assert.rejects(copyStore({ source, target: { ...target, engine } }), Killed);
}

/** Copies until only the comparison and the removal of the marker are left. */
async function copyAllButTheEnd(source: NamedEngine, target: NamedEngine, batches: number): Promise<void> {
  await copyInPart(source, target, batches + 1);
}

for (const kind of ['LMDB', 'DynamoDB'] as const) {
  test(`rejects a target on ${kind} that is not empty, and does not change it`, async (t) => {
    for (const [space, held] of [[books], ['table:other'], ['service:sealing']].entries()) {
      const { source, target } = await stores(t, { [books]: items(3) }, kind);
      await fill(target, { [held[0] as string]: { a: String(space) } });
      const before = await contentOf(target);
      await assert.rejects(copyStore({ source, target }), /is not empty: .* has items; use --into-existing/);
      assert.deepEqual(await contentOf(target), before);
    }
  });
}

test('adds missing items to an existing target, and does not change the others', async (t) => {
  const { source, target } = await stores(t, { [books]: items(250), 'service:payments': items(5) });
  const [first, last] = [await newestOf(source, 3), await newestOf(source, 200)];
  await fill(target, { [books]: { ...first, ...last, mine: 'stays' }, 'table:mine': { a: '1' } });
  const copied = await copyStore({ source, target, isIntoExisting: true });
  assert.deepEqual([copied.items, copied.differences], [255, []]);
  const { 'table:mine': mine, [books]: inBooks, ...rest } = await contentOf(target);
  assert.deepEqual(mine, { a: '1' });
  assert.deepEqual(inBooks, { ...(await contentOf(source))[books], mine: 'stays' });
  assert.deepEqual(Object.keys(rest), ['service:payments']);
});

test('does not change an existing target with a different value, and names the item', async (t) => {
  const { source, target } = await stores(t, { [books]: items(50) });
  await fill(target, { [books]: { 'id-00030': 'other' } });
  const copying = copyStore({ source, target, isIntoExisting: true });
  await assert.rejects(copying, /"id-00030" of table:books has a different value in the target/);
  assert.deepEqual((await contentOf(target))[books], { 'id-00030': 'other' });
});

test('finds items that were changed or deleted in an existing target during the copy', async (t) => {
  const { source, target } = await stores(t, { [books]: items(150) });
  await fill(target, { 'table:mine': { a: '1' } });
  const { engine } = new MortalEngine(target.engine, 3, randomFrom(1));
  const copying = { source, target: { ...target, engine }, isIntoExisting: true };
  await assert.rejects(copyStore(copying), Killed);
  await target.engine.commit([
    { kind: 'replace', space: books, id: 'id-00007', value: 'other' },
    { kind: 'delete', space: books, id: 'id-00009' },
  ]);
  // An unfinished copy continues with the option that it began with.
  const { differences } = await copyStore({ source, target });
  assert.match(differences.join('\n'), /^table:books: 2 of 150 items are missing or different in the target/);
});

const sabotages: Readonly<Record<string, { readonly write: Write; readonly difference: RegExp }>> = {
  'an item with another value': {
    write: { kind: 'replace', space: books, id: 'id-00001', value: 'other' },
    difference: /^table:books: 8 items in both, but not the same ones$/,
  },
  'a missing item': {
    write: { kind: 'delete', space: 'service:payments', id: 'id-00001' },
    difference: /^service:payments: 4 items in the source, 3 in the target$/,
  },
  'an additional item': {
    write: { kind: 'create', space: books, id: 'more', value: '', makeSpace: true },
    difference: /^table:books: 8 items in the source, 9 in the target$/,
  },
  'an additional table': {
    write: { kind: 'create', space: 'table:more', id: 'more', value: '', makeSpace: true },
    difference: /^table:more: 0 items in the source, 1 in the target$/,
  },
};

for (const kind of ['LMDB', 'DynamoDB'] as const) {
  // One case is enough to show that the engine makes no difference.
  const some = Object.entries(sabotages).slice(0, kind === 'LMDB' ? undefined : 1);
  for (const [name, { write, difference }] of some) {
    test(`finds ${name} in the comparison on ${kind}, and the copy stays marked as unfinished`, async (t) => {
      const { source, target } = await stores(t, { [books]: items(8), 'service:payments': items(4) }, kind);
      await copyAllButTheEnd(source, target, 1);
      assert.equal(await target.engine.commit([write]), undefined);
      assert.match((await copyStore({ source, target })).differences.join('\n'), difference);
      assert.notEqual(await target.engine.get('service:copying', 'copy'), undefined);
    });
  }
}

test('finds two values that were swapped', async (t) => {
  const { source, target } = await stores(t, { [books]: { a: 'one', b: 'two' } });
  await copyAllButTheEnd(source, target, 1);
  await target.engine.commit([
    { kind: 'replace', space: books, id: 'a', value: 'two' },
    { kind: 'replace', space: books, id: 'b', value: 'one' },
  ]);
  assert.match((await copyStore({ source, target })).differences.join(), /not the same ones/);
});

test('rejects another source for an unfinished copy, and an unfinished copy as a source', async (t) => {
  const { source, target } = await stores(t, { [books]: items(250) });
  await copyInPart(source, target, 2);
  const [other, third] = [await newStore(t, 'LMDB'), await newStore(t, 'LMDB')];
  const before = await contentOf(target);
  await assert.rejects(
    copyStore({ source: other, target }),
    /is the target of an unfinished copy from lmdb:/,
  );
  await assert.rejects(
    copyStore({ source: other, target, isIntoExisting: true }),
    /is the target of an unfinished copy/,
  );
  await assert.rejects(copyStore({ source: target, target: third }), /is the target of an unfinished copy/);
  await assert.rejects(copyStore({ source: target, target }), /is the source itself/);
  assert.deepEqual(await contentOf(target), before);
  assert.deepEqual(await contentOf(third), {});
});

test('finds or copies items that were written to the source while the copy was interrupted', async (t) => {
  for (const id of ['id-00000-new', 'id-00120-new', 'id-00249-new']) {
    const { source, target } = await stores(t, { [books]: items(250) });
    await copyInPart(source, target, 4);
    await source.engine.commit([{ kind: 'create', space: books, id, value: 'new', makeSpace: true }]);
    const outcome = await copyStore({ source, target }).then(
      ({ differences }) => differences.join(),
      (error: Error) => error.message,
    );
    // An item after the last copied one is copied as well.
    if (outcome === '') assert.deepEqual(await contentOf(target), await contentOf(source));
    else assert.match(outcome, /251 items in the source|has changed since this copy began/, id);
  }
});

test('does not overwrite an item that was added to the target during the copy', async (t) => {
  const { source, target } = await stores(t, { [books]: items(250) });
  await copyInPart(source, target, 1);
  await target.engine.commit([
    { kind: 'create', space: books, id: 'id-00240', value: 'mine', makeSpace: true },
  ]);
  await assert.rejects(copyStore({ source, target }), /"id-00240" of table:books was added to the target/);
  assert.equal(await target.engine.get(books, 'id-00240'), 'mine');
});

test('rejects a table name that DynamoDB does not allow, before it copies anything', async (t) => {
  const space: Space = `table:${'t'.repeat(250)}`;
  const { source, target } = await stores(t, { [books]: items(1), [space]: items(1) }, 'DynamoDB');
  await assert.rejects(copyStore({ source, target }), /cannot have a table with the name that table:ttt/);
  assert.deepEqual(await contentOf(target), {});
});

/** Forty items of the table of books, from the given index on. */
async function newestOf(source: NamedEngine, from: number): Promise<Record<string, string>> {
  const all = Object.entries((await contentOf(source))[books] as Record<string, string>);
  return Object.fromEntries(all.slice(from, from + 40));
}

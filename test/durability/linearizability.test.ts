import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  corrupted,
  done,
  good,
  historyOf,
  nothing,
  type Row,
  read,
  readOne,
  rejected,
  unknown,
} from '../support/durability/judged-histories.ts';
import { type Operation, type Outcome, violationIn } from '../support/durability/linearizability.ts';
import type { ItemWrite } from '../support/tables/table-operations.ts';

/** Tests the checker with histories whose verdict is known. */

suite('the checker of histories', () => {
  for (const [title, rows] of Object.entries(good)) {
    test(`accepts ${title}`, () => assert.equal(violationIn(historyOf(rows)), undefined));
  }

  for (const [title, rows] of Object.entries(corrupted)) {
    test(`rejects ${title}`, () => assert.notEqual(violationIn(historyOf(rows)), undefined));
  }

  test('returns the operation that fits no order, and the states that the table may have had', () => {
    const history = historyOf(corrupted['a resurrected delete'] ?? []);
    const violation = violationIn(history);
    assert.equal(violation?.operation, history[2]);
    assert.deepEqual(violation?.states, [new Map()]);
  });

  test('gives every small history the same verdict as a search of all orders', () => {
    let linearizable = 0;
    const runs = 3_000;
    fc.assert(
      fc.property(smallHistory, (history) => {
        const verdict = violationIn(history) === undefined;
        if (verdict) linearizable++;
        assert.equal(verdict, hasAnOrder(history, new Map()));
      }),
      { numRuns: runs },
    );
    assert.ok(linearizable > runs / 20 && linearizable < runs - runs / 20, `${linearizable} are good`);
  });
});

const ids = fc.constantFrom('a', 'b');
const names = fc.constantFrom('1', '2');
const write: fc.Arbitrary<ItemWrite> = fc.oneof(
  fc.record({ kind: fc.constantFrom('create' as const, 'update' as const), id: ids, name: names }),
  fc.record({ kind: fc.constant('delete' as const), id: ids }),
);
const writes = fc.uniqueArray(write, { minLength: 1, maxLength: 2, selector: ({ id }) => id });
const items = fc.oneof(
  fc.dictionary(ids, names).map((record) => read({ ...record })),
  fc.tuple(ids, fc.option(names, { nil: undefined })).map(([id, name]) => readOne(id, name)),
);
const action: fc.Arbitrary<[ItemWrite[], Outcome]> = fc.oneof(
  fc.tuple(writes, fc.constantFrom(done, done, rejected, unknown)),
  fc.tuple(fc.constant(nothing), items),
);

/** Up to six operations that overlap at random. */
const smallHistory = fc
  .array(fc.tuple(action, fc.nat(30), fc.integer({ min: 1, max: 12 })), { minLength: 1, maxLength: 6 })
  .map((actions) => {
    // All times are different, as from one clock that advances at each event.
    const rows = actions.map(([[what, outcome], start, length], index): Row => {
      const calledAt = start + index / 20;
      return [calledAt, calledAt + length + 0.01, what, outcome];
    });
    return historyOf(rows);
  });

/** Tries every operation that may come first, and then every one that may follow. */
function hasAnOrder(history: readonly Operation[], state: ReadonlyMap<string, string>): boolean {
  if (history.every(({ outcome }) => outcome.kind === 'unknown')) return true;
  const firstReturn = Math.min(...history.map(({ returnedAt }) => returnedAt));
  return history.some((operation) => {
    if (operation.calledAt > firstReturn) return false;
    const rest = history.filter((other) => other !== operation);
    if (operation.outcome.kind === 'unknown' && hasAnOrder(rest, state)) return true;
    const next = stateAfter(operation, state);
    return next !== undefined && hasAnOrder(rest, next);
  });
}

function stateAfter(
  { call, outcome }: Operation,
  state: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> | undefined {
  if (outcome.kind === 'read') return isSeen(outcome, state) ? state : undefined;
  const holds = call.writes.every(({ kind, id }) => state.has(id) === (kind !== 'create'));
  if (outcome.kind === 'rejected') return holds ? undefined : state;
  if (!holds) return undefined;
  const next = new Map(state);
  for (const each of call.writes) {
    if (each.kind === 'delete') next.delete(each.id);
    else next.set(each.id, each.name);
  }
  return next;
}

function isSeen(
  { items, only }: Extract<Outcome, { kind: 'read' }>,
  state: ReadonlyMap<string, string>,
): boolean {
  if (only !== undefined) return items.get(only) === state.get(only);
  return items.size === state.size && [...items].every(([id, name]) => state.get(id) === name);
}

import type { ItemWrite } from '../tables/table-operations.ts';
import type { Operation, Outcome } from './linearizability.ts';

/** Histories whose verdict is known, and helpers to write them. */

export const done: Outcome = { kind: 'done' };
export const rejected: Outcome = { kind: 'rejected' };
export const unknown: Outcome = { kind: 'unknown' };
export const readOne = (id: string, name?: string): Outcome => ({
  kind: 'read',
  only: id,
  items: new Map(name === undefined ? [] : [[id, name]]),
});
export const read = (items: Record<string, string>): Outcome => ({
  kind: 'read',
  items: new Map(Object.entries(items)),
});
const create = (id: string, name: string): ItemWrite[] => [{ kind: 'create', id, name }];
const update = (id: string, name: string): ItemWrite[] => [{ kind: 'update', id, name }];
const remove = (id: string): ItemWrite[] => [{ kind: 'delete', id }];
export const nothing: ItemWrite[] = [];

/** An operation, with the times of its call and its return. */
export type Row = readonly [calledAt: number, returnedAt: number, writes: ItemWrite[], outcome: Outcome];

export function historyOf(rows: readonly Row[]): Operation[] {
  return rows.map(([calledAt, returnedAt, writes, outcome], index) => ({
    call: { caller: `caller ${index}`, writes },
    calledAt,
    returnedAt,
    outcome,
  }));
}

export const good: Record<string, Row[]> = {
  'a write and a read after it': [
    [1, 2, create('a', '1'), done],
    [3, 4, nothing, read({ a: '1' })],
  ],
  'a read during a write that shows it, then one that was called earlier and does not': [
    [1, 8, create('a', '1'), done],
    [2, 6, nothing, read({})],
    [3, 5, nothing, read({ a: '1' })],
  ],
  'a read of one item, with any others': [
    [1, 2, create('a', '1'), done],
    [3, 4, create('b', '1'), done],
    [5, 6, nothing, readOne('a', '1')],
    [7, 8, nothing, readOne('c')],
  ],
  'two creates at once, one of which is rejected': [
    [1, 4, create('a', '1'), rejected],
    [2, 3, create('a', '2'), done],
    [5, 6, nothing, read({ a: '2' })],
  ],
  'a lost response to a write that happened': [
    [1, 5, create('a', '1'), unknown],
    [6, 7, nothing, read({ a: '1' })],
  ],
  'a lost response to a write that did not happen': [
    [1, 5, create('a', '1'), unknown],
    [6, 7, nothing, read({})],
  ],
  'a lost write that happens late, while its process still runs': [
    [1, Infinity, create('a', '1'), unknown],
    [2, 3, nothing, read({})],
    [4, 5, nothing, read({ a: '1' })],
  ],
  'two lost writes, one of which needs the other': [
    [1, 6, update('a', '2'), unknown],
    [2, 6.5, create('a', '1'), unknown],
    [7, 8, nothing, read({ a: '2' })],
  ],
  'an item that is deleted and created again': [
    [1, 2, create('a', '1'), done],
    [3, 6, remove('a'), done],
    [4, 5, create('a', '2'), done],
    [7, 8, nothing, read({ a: '2' })],
  ],
  'a rejected batch': [
    [1, 2, create('a', '1'), done],
    [3, 4, [...create('b', '1'), ...create('a', '2')], rejected],
    [5, 6, nothing, read({ a: '1' })],
  ],
};

export const corrupted: Record<string, Row[]> = {
  'a stale read': [
    [1, 2, create('a', '1'), done],
    [3, 4, update('a', '2'), done],
    [5, 6, nothing, read({ a: '1' })],
  ],
  'a stale read of one item': [
    [1, 2, create('a', '1'), done],
    [3, 4, create('b', '1'), done],
    [5, 6, nothing, readOne('a')],
  ],
  'two reads of one item each that no single order explains': [
    [1, 12, create('a', '1'), done],
    [2, 13, create('b', '1'), done],
    [3, 4, nothing, readOne('a', '1')],
    [5, 6, nothing, readOne('b')],
    [7, 8, nothing, readOne('b', '1')],
    [9, 10, nothing, readOne('a')],
  ],
  'a lost write': [
    [1, 2, create('a', '1'), done],
    [3, 4, nothing, read({})],
  ],
  'an acknowledged write that is lost by a crash': [
    [1, 2, create('a', '1'), done],
    [3, 5, create('b', '1'), unknown],
    [6, 7, nothing, read({ b: '1' })],
  ],
  'a lost update': [
    [1, 2, create('a', '1'), done],
    [3, 6, update('a', '2'), done],
    [4, 5, update('a', '3'), done],
    [7, 8, nothing, read({ a: '1' })],
  ],
  'a rejected write that is visible': [
    [1, 2, create('a', '1'), done],
    [3, 4, create('a', '2'), rejected],
    [5, 6, nothing, read({ a: '2' })],
  ],
  'a rejection without a reason': [
    [1, 2, create('a', '1'), rejected],
    [3, 4, nothing, read({})],
  ],
  'an update of a missing item': [[1, 2, update('a', '1'), done]],
  'two winners of one id': [
    [1, 4, create('a', '1'), done],
    [2, 3, create('a', '2'), done],
  ],
  'a resurrected delete': [
    [1, 2, create('a', '1'), done],
    [3, 4, remove('a'), done],
    [5, 6, nothing, read({ a: '1' })],
  ],
  'one item deleted twice': [
    [1, 2, create('a', '1'), done],
    [3, 6, remove('a'), done],
    [4, 5, remove('a'), done],
  ],
  'a snapshot that mixes two states': [
    [1, 2, create('a', '1'), done],
    [3, 4, create('b', '1'), done],
    [5, 6, update('a', '2'), done],
    [7, 12, update('b', '2'), done],
    [8, 11, update('a', '3'), done],
    [9, 10, nothing, read({ a: '1', b: '2' })],
  ],
  'half of a batch': [
    [1, 2, create('a', '1'), done],
    [3, 6, [...update('a', '2'), ...create('b', '2')], done],
    [4, 5, nothing, read({ a: '2' })],
  ],
  'half of a batch that was rejected': [
    [1, 2, create('a', '1'), done],
    [3, 4, [...create('b', '2'), ...create('a', '2')], rejected],
    [5, 6, nothing, read({ a: '1', b: '2' })],
  ],
  'an inverted order: two readers see two writes in opposite orders': [
    [1, 12, create('a', '1'), done],
    [2, 13, create('b', '1'), done],
    [3, 10, nothing, read({ a: '1' })],
    [4, 11, nothing, read({ b: '1' })],
  ],
  'a read of an older state than one that ended before it began': [
    [1, 8, create('a', '1'), done],
    [2, 3, nothing, read({ a: '1' })],
    [4, 5, nothing, read({})],
  ],
  'a write with a lost response that happens after the end of its process': [
    [1, 3, create('a', '1'), unknown],
    [4, 5, nothing, read({})],
    [6, 7, nothing, read({ a: '1' })],
  ],
  'a name that was never written': [
    [1, 2, create('a', '1'), done],
    [3, 4, nothing, read({ a: '7' })],
  ],
};

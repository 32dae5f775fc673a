import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ServiceError } from '../../src/errors.ts';
import { CommitUnknown, type Engine, type Space, type Write } from '../../src/storage/engine.ts';
import { itemsOf } from '../../src/storage/item-text.ts';
import {
  accessDenied,
  conflicting,
  cutReply,
  dropReply,
  dropRequest,
  type Fault,
  failedAfter,
  failedBefore,
  hang,
  inProgress,
  throttled,
  tooFast,
} from '../support/dynamodb/fault-proxy.ts';
import { type FaultyStore, openFaultyStore } from '../support/dynamodb/faulty-store.ts';

/** Tests every method of the port with every fault of a network engine. */
const space: Space = 'table:books';
const key = { space, id: 'a' } as const;

const writes: Readonly<Record<string, { operation: string; commit: readonly Write[]; left: unknown }>> = {
  create: {
    operation: 'PutItem',
    commit: [{ kind: 'create', space, id: 'new', value: 'n', makeSpace: false }],
    left: { a: 'old', b: 'old', new: 'n' },
  },
  update: {
    operation: 'TransactWriteItems',
    commit: [{ kind: 'replace', ...key, value: 'x' }],
    left: { a: 'x', b: 'old' },
  },
  'conditional update': {
    operation: 'TransactWriteItems',
    commit: [{ kind: 'replace', ...key, value: 'x', ifValue: 'old' }],
    left: { a: 'x', b: 'old' },
  },
  delete: { operation: 'TransactWriteItems', commit: [{ kind: 'delete', ...key }], left: { b: 'old' } },
  'conditional delete': {
    operation: 'TransactWriteItems',
    commit: [{ kind: 'delete', ...key, ifValue: 'old' }],
    left: { b: 'old' },
  },
  batch: {
    operation: 'TransactWriteItems',
    commit: [
      { kind: 'create', space, id: 'new', value: 'n', makeSpace: false },
      { kind: 'replace', ...key, value: 'x', ifValue: 'old' },
      { kind: 'delete', space, id: 'b' },
    ],
    left: { a: 'x', new: 'n' },
  },
};

/** The faults of an engine, and the error when the fault persists. */
const faults: Readonly<Record<string, { fault: Fault; isUnknown: boolean; code: string }>> = {
  'the request is lost': { fault: dropRequest, isUnknown: true, code: 'unavailable' },
  'the reply is lost': { fault: dropReply, isUnknown: true, code: 'unavailable' },
  'half of the reply is received': { fault: cutReply, isUnknown: true, code: 'unavailable' },
  'there is no reply': { fault: hang, isUnknown: true, code: 'unavailable' },
  'the engine fails before it writes': { fault: failedBefore, isUnknown: true, code: 'unavailable' },
  'the engine fails after it has written': { fault: failedAfter, isUnknown: true, code: 'unavailable' },
  'the table is throttled': { fault: throttled, isUnknown: false, code: 'overloaded' },
  'the account is throttled': { fault: tooFast, isUnknown: false, code: 'overloaded' },
};
const transactionFaults: typeof faults = {
  'another transaction has the item': { fault: conflicting, isUnknown: false, code: 'overloaded' },
  'its own first attempt is still in progress': { fault: inProgress, isUnknown: true, code: 'unavailable' },
};

const reads: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = {
  get: (engine) => engine.get(space, 'a'),
  describe: (engine) => engine.describe(space),
  scan: async (engine) => itemsIn(engine),
  spaces: (engine) => engine.spaces(),
};

describe('DynamoDB under faults', () => {
  let store: FaultyStore;

  before(async () => {
    store = await openFaultyStore(['books']);
  });
  after(() => store.close());

  for (const [verb, { operation, commit, left }] of Object.entries(writes)) {
    const all = operation === 'PutItem' ? faults : { ...faults, ...transactionFaults };
    for (const [what, { fault, isUnknown, code }] of Object.entries(all)) {
      test(`${verb}: takes effect once when at first ${what}`, async () => {
        await fill(store);
        store.proxy.script = (request, count) =>
          request.operation === operation && count === 1 ? fault : undefined;
        assert.equal(await store.patient.commit(commit), undefined);
        assert.deepEqual(await itemsIn(store.direct), left);
        assert.ok(store.proxy.count(operation) >= 2);
      });

      const reported = isUnknown ? 'an unknown outcome' : 'when to try again';
      test(`${verb}: reports ${reported} when ${what} every time`, async () => {
        await fill(store);
        store.proxy.script = (request) => (request.operation === operation ? fault : undefined);
        const error = await failureOf(store.hasty.commit(commit));
        assert.equal(error instanceof CommitUnknown, isUnknown, `${error.details.detail}`);
        assert.equal(error.code, code);
        assert.ok((error.details.retryAfterSeconds ?? 0) >= 1);
        const isWritten = [dropReply, cutReply, failedAfter].includes(fault);
        assert.deepEqual(await itemsIn(store.direct), isWritten ? left : { a: 'old', b: 'old' });
      });
    }

    test(`${verb}: reports an unknown outcome when the credentials expire after a lost reply`, async () => {
      await fill(store);
      store.proxy.script = (request, count) => {
        if (request.operation !== operation) return undefined;
        return count === 1 ? dropReply : accessDenied;
      };
      assert.ok((await failureOf(store.patient.commit(commit))) instanceof CommitUnknown);
      assert.deepEqual(await itemsIn(store.direct), left);
    });

    test(`${verb}: reports that nothing was written when the credentials are rejected`, async () => {
      await fill(store);
      store.proxy.script = () => accessDenied;
      const error = await failureOf(store.patient.commit(commit));
      assert.ok(!(error instanceof CommitUnknown) && error.code === 'unavailable');
      assert.deepEqual(await itemsIn(store.direct), { a: 'old', b: 'old' });
    });
  }

  for (const [verb, read] of Object.entries(reads)) {
    for (const [what, { fault, code }] of Object.entries(faults)) {
      test(`${verb}: returns the right result when at first ${what}`, async () => {
        await fill(store);
        const expected = await read(store.direct);
        store.proxy.reset();
        store.proxy.script = () => (store.proxy.count() === 1 ? fault : undefined);
        assert.deepEqual(await read(store.patient), expected);
        assert.ok(store.proxy.count() >= 2);
      });

      test(`${verb}: is rejected when ${what} every time`, async () => {
        store.proxy.script = () => fault;
        const error = await failureOf(read(store.hasty));
        assert.ok(!(error instanceof CommitUnknown));
        assert.equal(error.code, code);
        assert.ok((error.details.retryAfterSeconds ?? 0) >= 1);
      });
    }
  }

  test('rejects calls beyond the limit at once', async () => {
    store.proxy.script = () => hang;
    const begun = Array.from({ length: 101 }, () => failureOf(store.hasty.get(space, 'a')));
    assert.equal((await Promise.race(begun)).code, 'overloaded');
    const codes = (await Promise.all(begun)).map(({ code }) => code);
    assert.deepEqual([...new Set(codes.slice(0, -1))], ['unavailable']);
    assert.equal(codes.at(-1), 'overloaded');
  });
});

async function fill({ proxy, direct }: FaultyStore): Promise<void> {
  proxy.script = () => undefined;
  for (const id of Object.keys(await itemsIn(direct))) await direct.commit([{ kind: 'delete', space, id }]);
  for (const id of ['a', 'b'])
    await direct.commit([{ kind: 'create', space, id, value: 'old', makeSpace: false }]);
  proxy.reset();
}

async function itemsIn(engine: Engine): Promise<Record<string, string>> {
  const items = await Array.fromAsync(itemsOf((await engine.scan(space))?.chunks ?? []));
  return Object.fromEntries(items.map(({ id, name }) => [id, name] as const).sort());
}

async function failureOf(promise: Promise<unknown>): Promise<ServiceError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error;
  }
  assert.fail('it succeeded');
}

import { ServiceError } from '../errors.ts';

/**
 * The port to a storage engine: spaces of items, each item an id and a value, both strings. Tables, payments and
 * integrations are spaces of one engine, so related writes are one commit.
 *
 * Ids are 1–`itemIdBytesMax` bytes of well-formed UTF-8; values are well-formed strings. The callers (domains) check
 * this and every other rule; an engine only stores.
 *
 * Any method may reject with ServiceError `overloaded`, `storage_full` or `unavailable`. Then nothing was written, unless the error is
 * CommitUnknown.
 */

/** A user's table is `table:NAME`; the service's own spaces are `service:…`. No table name can reach a service space. */
export type Space = `table:${string}` | `service:${ServiceSpace}`;
export type ServiceSpace = (typeof serviceSpaces)[number];

export const serviceSpaces = [
  'payments',
  'payment-keys',
  'open-payments',
  'charges',
  'heartbeats',
  'awaited-items',
  'integrations',
  'one-time-ids',
  'sessions',
  'users',
  'access-endings',
  'recent-endings',
  'sign-in-codes',
  'refresh-families',
  'signing-keys',
  'sealing',
  'copying',
  'access',
  'api-keys',
  'api-key-uses',
  'audit',
  'declines',
  'restored',
  'charge-accounts',
  'console-sessions',
  'administrators',
] as const;
export type Write =
  /** Adds the item; fails with `exists` when the space has the id. */
  | {
      readonly kind: 'create';
      readonly space: Space;
      readonly id: string;
      readonly value: string;
      /** Whether a missing space is created; otherwise the write fails with `space_missing`. */
      readonly makeSpace: boolean;
    }
  /** Adds the item, or changes its value; fails only with `space_missing`. */
  | {
      readonly kind: 'put';
      readonly space: Space;
      readonly id: string;
      readonly value: string;
      /** As for `create`. */
      readonly makeSpace: boolean;
    }
  /** Changes the value; fails with `missing`, or with `differs` when the current value is not `ifValue`. */
  | {
      readonly kind: 'replace';
      readonly space: Space;
      readonly id: string;
      readonly value: string;
      readonly ifValue?: string;
    }
  /** Removes the item; fails with `missing`, or with `differs` when the current value is not `ifValue`. */
  | { readonly kind: 'delete'; readonly space: Space; readonly id: string; readonly ifValue?: string }
  /**
   * Changes nothing; fails with `missing`, or with `differs` when the current value is not `ifValue`. If `ifValue` is null, fails with
   * `exists` when there is an item.
   */
  | { readonly kind: 'check'; readonly space: Space; readonly id: string; readonly ifValue: string | null };

/** Why a commit was rejected: the first write with a condition that did not hold. */
export interface Rejection {
  readonly write: number;
  readonly reason: 'exists' | 'missing' | 'differs' | 'space_missing';
}

export interface ScanOptions {
  /** Only items whose ids begin with these bytes, in UTF-8. Only for tables, not for the service's own spaces. */
  readonly prefix?: string | undefined;
  /** Only items after this id, in scan order. */
  readonly after?: string | undefined;
  /** At most this many items. */
  readonly limit?: number | undefined;
}

/**
 * The consistency of a scan. `snapshot`: the space at one point in time, sorted by the UTF-8 bytes of the ids. `pages`:
 * each page is consistent at the time it is read. An item that changes during the scan appears in its old or new state;
 * every unchanged item appears once. Service spaces are sorted by id here too. Tables come in the engine's internal
 * order, which is the same each time for scans with `after` or `limit`.
 */
export type Reads = 'snapshot' | 'pages';

export interface Engine {
  readonly reads: Reads;

  /** The value of an item as of the last commit; undefined when the item or space does not exist. */
  get(space: Space, id: string): Promise<string | undefined>;

  /** All tables, and at least those service spaces that hold items. */
  spaces(): Promise<readonly Space[]>;

  /** What is known about a space without reading it; undefined when the space does not exist. */
  describe(space: Space): Promise<SpaceFacts | undefined>;

  /**
   * The number of items of a table; undefined when it does not exist. An engine with `snapshot` knows the number; one with `pages`
   * reads the whole table.
   */
  count(space: Space): Promise<number | undefined>;

  /** The items of a space, with the consistency in `reads`; undefined when the space does not exist. */
  scan(space: Space, options?: ScanOptions): Promise<Scan | undefined>;

  /**
   * Makes all of the writes (1–`commitWritesMax`, no item twice), or none and returns a Rejection. Resolves when they are
   * durable. Commits are serial: each sees the outcome of all earlier ones. Commits of one caller keep their order.
   *
   * @param caller the caller of the commit, for an engine that shares its time among callers; undefined for the service itself
   */
  commit(writes: readonly Write[], caller?: string): Promise<Rejection | undefined>;

  /** Removes a table that has no items. Durable when it resolves. */
  removeSpace(space: Space): Promise<SpaceRemoval>;

  /**
   * Rejects with `storage_full` or `unavailable` when a commit made now would surely fail with it. Writes nothing
   * durable, and is cheap enough for a public route. An engine that only a commit can check resolves.
   */
  checkWritable(): Promise<void>;

  /** Finishes the accepted work, then releases the store. */
  close(): Promise<void>;
}

/** `kept`: the tables of this engine belong to its operator, so the table stays, empty. */
export type SpaceRemoval = 'removed' | 'kept' | 'not_empty' | 'missing';

/** An engine with `pages` knows none of these, because other processes may change the space. */
export interface SpaceFacts {
  /** The number of items. */
  readonly count?: number;
  /** The bytes of all items as JSON text (`itemText`), with the commas between them. */
  readonly textBytes?: number;
  /** Changes with every change of the space. */
  readonly version?: string;
}

/** The facts describe the whole space, even when the scan covers only a part. */
export interface Scan extends SpaceFacts {
  readonly chunks: Chunks;
}

/**
 * Concatenated, they are the items as JSON text, joined by commas. Each ends with an item, and none is empty. A chunk
 * is valid until the next one is requested, which reuses its bytes. Chunks may hold a snapshot: read them to the end, or
 * call the iterator's `return`, as leaving a loop does.
 */
export type Chunks = Iterable<Buffer> | AsyncIterable<Buffer>;

/**
 * The reply to a commit was lost for good: either all of its writes were made, or none. A local engine never throws
 * it.
 */
export class CommitUnknown extends ServiceError {
  constructor(detail: string, cause?: unknown) {
    super('unavailable', {
      message:
        'The store did not confirm this write in time. Check whether it was written before you send it again.',
      retryAfterSeconds: 1,
      detail,
      cause,
    });
  }
}

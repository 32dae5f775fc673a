import { ServiceError } from '../errors.ts';

/**
 * The port to a storage engine: spaces of items, each item an id and a value, both strings. Tables, payments,
 * integrations are all spaces of the one engine, so that writes which belong together are one commit.
 *
 * Ids are 1–`itemIdBytesMax` bytes of well-formed UTF-8; values well-formed strings. The callers (domains) check
 * that and every other rule; an engine stores.
 *
 * Any method may reject with ServiceError `overloaded`, `storage_full` or `unavailable`; then nothing was written,
 * unless it is CommitUnknown.
 */

/**
 * A user's table is `table:NAME`; `service:…` are the service's own. The prefix keeps them apart: no name that a
 * user can choose reaches a service space.
 */
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
] as const;
export type Write =
  /** Adds the item; refused with `exists` when the space has the id. */
  | {
      readonly kind: 'create';
      readonly space: Space;
      readonly id: string;
      readonly value: string;
      /** Whether a missing space is made, or refused with `space_missing`. */
      readonly makeSpace: boolean;
    }
  /** Changes the value; refused with `missing`, or with `differs` when it does not read as `ifValue` now. */
  | {
      readonly kind: 'replace';
      readonly space: Space;
      readonly id: string;
      readonly value: string;
      readonly ifValue?: string;
    }
  /** Removes the item; refused with `missing`, or with `differs` when it does not read as `ifValue` now. */
  | { readonly kind: 'delete'; readonly space: Space; readonly id: string; readonly ifValue?: string };

/** Why a commit was refused: the first of its writes whose condition did not hold. */
export interface Refusal {
  readonly write: number;
  readonly reason: 'exists' | 'missing' | 'differs' | 'space_missing';
}

export interface ScanOptions {
  /** Only items behind this id, in the order of the scan. */
  readonly after?: string;
  /** At most this many items. */
  readonly limit?: number;
}

/**
 * What a scan shows. `snapshot`: one moment, in the order of the UTF-8 bytes of the ids. `pages`: each page as of the
 * moment when it is read, so that an item which changes meanwhile is shown as it was or as it is; items that do not
 * change are all shown, once. The service's own spaces are in the order of the ids there too; a table is in an order of
 * the engine's own, which for scans with `after` or `limit` is the same each time.
 */
export type Reads = 'snapshot' | 'pages';

export interface Engine {
  readonly reads: Reads;

  /** The value of an item as of the last commit, or undefined where there is no such item or space. */
  get(space: Space, id: string): Promise<string | undefined>;

  /** The spaces that there are; of the service's own at least those that hold items. */
  spaces(): Promise<readonly Space[]>;

  /** What is known of a space without reading it, or undefined where there is no such space. */
  describe(space: Space): Promise<SpaceFacts | undefined>;

  /** The items of a space, as `reads` says, or undefined where there is no such space. */
  scan(space: Space, options?: ScanOptions): Promise<Scan | undefined>;

  /**
   * All of the writes (1–`commitWritesMax`, no item twice) or, with a refusal, none. Resolves when they are
   * durable. Commits are serial: each sees the outcome of all before it.
   */
  commit(writes: readonly Write[]): Promise<Refusal | undefined>;

  /**
   * Rejects, with `storage_full` or `unavailable`, when a commit made now would surely be rejected with it. Writes
   * nothing that lasts and is cheap enough for anybody to ask; an engine that is told by a commit alone resolves.
   */
  checkWritable(): Promise<void>;

  /** Finishes what was accepted, then lets go of the store. */
  close(): Promise<void>;
}

/** An engine whose scans are pages knows none of them: what it counts, others change meanwhile. */
export interface SpaceFacts {
  /** Items. */
  readonly count?: number;
  /** Bytes of all items as JSON text (`itemText`), with the commas between them. */
  readonly textBytes?: number;
  /** Another one whenever the space has changed. */
  readonly version?: string;
}

/** The facts are of the whole space, also where only a part was asked for. */
export interface Scan extends SpaceFacts {
  readonly chunks: Chunks;
}

/**
 * One behind the other they are the items as JSON text, joined by commas; each ends with an item, none is empty. A
 * chunk is good until the next one is asked for, in the same bytes. They may hold a snapshot: whoever takes them reads
 * them to the end, or leaves them by the iterator's `return`, as leaving a loop does.
 */
export type Chunks = Iterable<Buffer> | AsyncIterable<Buffer>;

/**
 * A commit whose reply was lost for good: its writes may have been made, all of them, or not. An engine on this machine
 * never throws it.
 */
export class CommitUnknown extends ServiceError {
  constructor(detail: string, cause?: unknown) {
    super('unavailable', {
      message: 'The store has not told in time whether this was written. Look before you send it again.',
      retryAfterSeconds: 1,
      detail,
      cause,
    });
  }
}

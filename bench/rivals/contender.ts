import type { Conditions } from '../case.ts';
import type { Environment, Program } from '../environment.ts';
import { firstVersion, idText, nameText, takeStream } from '../items.ts';
import { idPlaceholder, type Load, versionPlaceholder } from '../wrk.ts';

/** A server that the `rivals` case measures: ours, or another one with the same items. One file each in this folder. */
export interface Contender {
  readonly name: string;
  /** When a write that it has acknowledged is on disk, for the report. */
  readonly durability: string;
  /** What it is, how it is set up and filled, and what differs from the others, as whole sentences. */
  readonly remark: string;
  /** Whether it stores anything. Without a store, the size on disk has no meaning. */
  readonly stores: boolean;
  /** Installs or builds what is not on the machine. @returns why it cannot be measured here, or undefined */
  readonly prepare: (environment: Environment) => Promise<string | undefined>;
  /** Writes the tables into a new folder; when it returns, nothing runs. */
  readonly fill: (environment: Environment, folder: string, tables: Filled) => Promise<void>;
  /** Starts it on a filled folder. It accepts connections when this returns. */
  readonly start: (environment: Environment, folder: string, conditions: Conditions) => Promise<Running>;
}

/** The table `ten` has 10 items, `items` this many, and `created` takes what is created. */
export interface Filled {
  readonly items: number;
}

export const tables = { ten: 'ten', items: 'items', created: 'created' } as const;
export const tenItems = 10;
export const pageItems = 1_000;

export const requestKinds = ['ten', 'one', 'page', 'create', 'update'] as const;
export type RequestKind = (typeof requestKinds)[number];

export interface Running {
  /** All of them count for CPU time and memory. */
  readonly programs: readonly Program[];
  readonly requests: Readonly<Record<RequestKind, Request>>;
  readonly whole: WholeTable;
}

export interface Request extends Omit<Load, 'seconds' | 'connections'> {
  /** Where the first responses come only after seconds: the load lasts at least so long. */
  readonly secondsLeast?: number;
}

/** How every item of a table is read: in one response, or page by page. */
export type WholeTable =
  | { readonly url: string /** Makes it a POST. */; readonly body?: string }
  | {
      /** The URL of a page, in which `{last}` stands for the id of the last item before it. */
      readonly pageUrl: string;
      readonly itemsPerPage: number;
    };

/** Items that no request has used yet; `freshOf` names the stream. */
export const newItems = { kind: 'new', stream: 0 } as const;

/** The same request for the next load: what it creates does not exist yet. */
export function freshOf(request: Request): Request {
  if (request.requests?.items.kind !== 'new') return request;
  return { ...request, requests: { ...request.requests, items: { ...newItems, stream: takeStream() } } };
}

/** Sends one request of a kind, for the item with the given number. Throws unless it succeeds. @returns the body */
export async function sendOne({ url, body, requests }: Request, idNumber: number): Promise<string> {
  const filled = (text: string) =>
    text.replace(idPlaceholder, idText(idNumber)).replace(versionPlaceholder, firstVersion);
  const text = requests?.body ?? body;
  const response = await fetch(filled(url), {
    method: requests?.method ?? (body === undefined ? 'GET' : 'POST'),
    ...(text !== undefined && { body: filled(text), headers: { 'content-type': 'application/json' } }),
  });
  const received = await response.text();
  if (!response.ok) throw new Error(`${url} returned ${response.status}: ${received.slice(0, 200)}`);
  return received;
}

/** Every name contains it, also where a name must be valid base64 (`etcd-gateway.ts`). */
const nameMark = /an.item/g;

/** The number of items in a response of any of them. */
export function itemsWithin(text: string): number {
  return text.match(nameMark)?.length ?? 0;
}

/** An item as most of them take it. */
export const versionedName = nameText(versionPlaceholder);

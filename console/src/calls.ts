import { CounterfoilError } from '@counterfoil/client';
import { type Session, withToken } from './service.ts';

/** Requests that the client does not have, because they are for operators. */
export interface Calls {
  /** Reads one page of a list. @param path the path after the base path of the service */
  page<Entry>(
    path: string,
    query: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Page<Entry>>;
  /** Reads every page of a list. @param path the path after the base path of the service */
  list<Entry>(path: string, signal?: AbortSignal): Promise<readonly Entry[]>;
  /** Reads one object. @param path behind the base path of the service */
  read<Body>(path: string, signal?: AbortSignal): Promise<Body>;
  /** Sends a request. @param body sent as JSON */
  send<Body>(method: string, path: string, body?: object): Promise<Body>;
  /** The text of a response without the envelope. @param path from the root of the service */
  text(path: string, signal?: AbortSignal): Promise<string>;
}

interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** The `after` of the next page; undefined on the last page. */
  readonly next: string | undefined;
}

/** @param onEnded called when the service no longer knows the session */
export function callsOf(session: Session, onEnded: () => void): Calls {
  const open = async (
    method: string,
    path: string,
    signal?: AbortSignal,
    body?: object,
  ): Promise<Response> => {
    const response = await fetch(path, {
      method,
      signal: signal ?? null,
      headers: withToken(body === undefined ? {} : { 'content-type': 'application/json' }, session.token),
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (response.ok) return response;
    if (response.status === 401) onEnded();
    throw new CounterfoilError((await response.json()).body.error, response);
  };
  const page = async <Entry>(
    path: string,
    query: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Page<Entry>> => {
    const text = new URLSearchParams(query).toString();
    const response = await open('GET', session.base_path + path + (text && `?${text}`), signal);
    const { body, next } = await response.json();
    return { entries: body, next };
  };
  return {
    page,
    list: async <Entry>(path: string, signal?: AbortSignal) => {
      const entries: Entry[] = [];
      let after: string | undefined;
      do {
        const read: Page<Entry> = await page(path, after === undefined ? {} : { after }, signal);
        entries.push(...read.entries);
        after = read.next;
      } while (after !== undefined);
      return entries;
    },
    read: async (path, signal) => (await (await open('GET', session.base_path + path, signal)).json()).body,
    send: async (method, path, body) =>
      (await (await open(method, session.base_path + path, undefined, body)).json()).body,
    text: async (path, signal) => (await open('GET', path, signal)).text(),
  };
}

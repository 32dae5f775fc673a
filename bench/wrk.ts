import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { nameText } from './items.ts';
import type { Workplace } from './workplace.ts';

const requestsScript = fileURLToPath(new URL('requests.lua', import.meta.url));
const constantScript = fileURLToPath(new URL('constant.lua', import.meta.url));
/** One thread is enough to keep a server of one thread busy, and leaves it the rest of a small machine. */
const loadThreads = 1;
export const usualConnections = 64;
const seeds = 2 ** 31;
/** What wrk takes beyond its load: connecting, the last answers, its report. */
const loadGraceMs = 30_000;

export interface Load {
  readonly url: string;
  readonly seconds: number;
  readonly connections?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Plain GET, always the same, without. */
  readonly requests?: Requests;
  /** A POST of this body, always the same. */
  readonly body?: string;
  /** Whether the server may shed requests: then what it served is counted. */
  readonly mayShed?: boolean;
}

/** Requests that each name another item; the placeholders stand in the URL and the body (`requests.lua`). */
export interface Requests {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly body?: string;
  /** A piece of a right answer's body, where status 200 does not say all. */
  readonly expected?: string;
  readonly items:
    | { readonly kind: 'new'; readonly stream: number; readonly tables?: number; readonly perTable?: number }
    | { readonly kind: 'known'; readonly count: number };
}

export const idPlaceholder = 'i'.repeat(12);
export const versionPlaceholder = 'v'.repeat(6);
export const tablePlaceholder = 't'.repeat(4);

export interface LoadOutcome {
  readonly requests: number;
  readonly requestsPerSecond: number;
}

/**
 * Puts a server under load by wrk. Throws when any answer was missing or not the expected one; where the server may shed, an
 * answer of another status is not counted.
 */
export async function putUnderLoad(workplace: Workplace, load: Load): Promise<LoadOutcome> {
  const {
    url,
    seconds,
    connections = usualConnections,
    headers = {},
    requests,
    body,
    mayShed = false,
  } = load;
  const args = [
    `-t${loadThreads}`,
    `-c${connections}`,
    `-d${seconds}s`,
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    ...(requests === undefined ? [] : ['-s', requestsScript]),
    ...(body === undefined ? [] : ['-s', constantScript]),
    url,
    ...(requests === undefined ? [] : ['--', ...scriptArgs(requests)]),
    ...(body === undefined ? [] : ['--', 'POST', body]),
  ];
  const text = await workplace.run('wrk', args, { msMax: seconds * 1_000 + loadGraceMs });
  const wrong = /^\s*(?:Socket errors|Non-2xx or 3xx responses|Answers other than expected): .*$/gm;
  const complaints = text.match(wrong);
  if (complaints !== null && !mayShed)
    throw new Error(`${url}: ${complaints.map((line) => line.trim()).join('; ')}`);
  const requestCount = Number(/(\d+) requests in /.exec(text)?.[1]);
  const requestsPerSecond = Number(/^Requests\/sec:\s+([\d.]+)$/m.exec(text)?.[1]);
  if (!(requestsPerSecond > 0)) throw new Error(`${url}: wrk counted no requests\n${text}`);
  const shed = Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0);
  const served = 1 - shed / requestCount;
  return { requests: requestCount - shed, requestsPerSecond: requestsPerSecond * served };
}

function scriptArgs({ method, body = '', expected = '', items }: Requests): string[] {
  const { tables = 1, perTable = 1 } = items.kind === 'new' ? items : {};
  const which = items.kind === 'new' ? [items.stream, tables, perTable] : [items.count, randomInt(seeds)];
  return [method, body, expected, items.kind, ...which.map(String)];
}

/** The body that creates or updates an item, with a version of its name that is new. */
export const itemBody = JSON.stringify({ id: idPlaceholder, name: nameText(versionPlaceholder) });

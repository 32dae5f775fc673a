import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Environment } from './environment.ts';
import { nameText } from './items.ts';

const requestsScript = fileURLToPath(new URL('requests.lua', import.meta.url));
const constantScript = fileURLToPath(new URL('constant.lua', import.meta.url));
/** One thread keeps a server of one thread busy, and leaves it the other core of a small machine. */
const loadThreads = 1;
export const usualConnections = 64;
const seeds = 2 ** 31;
/** The time that wrk needs beyond its load: for connecting, the last responses and its report. */
const loadGraceMs = 30_000;

export interface Load {
  readonly url: string;
  readonly seconds: number;
  readonly connections?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without requests and body, the load is the same GET repeatedly. */
  readonly requests?: Requests;
  /** Makes the load the same POST repeatedly, with this body. */
  readonly body?: string;
  /** Whether the server may shed requests: then only served requests are counted. */
  readonly mayShed?: boolean;
  /** Whether every response is an error, which is what is measured. */
  readonly mayFail?: boolean;
  /** A response that takes longer is an error; 2 s unless given. */
  readonly responseSecondsMax?: number;
}

/** Requests that each name another item, by placeholders in the URL and the body (`requests.lua`). */
export interface Requests {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly body?: string;
  /** A part of the body of a correct response, if status 200 or 201 is not enough. */
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
  /** In milliseconds: 99 of 100 responses took at most so long. */
  readonly p99Ms: number;
}

/**
 * Puts a server under load with wrk. Throws when a response is missing or unexpected; if the server may shed, responses
 * of another status are not counted.
 */
export async function putUnderLoad(environment: Environment, load: Load): Promise<LoadOutcome> {
  const {
    url,
    seconds,
    connections = usualConnections,
    headers = {},
    requests,
    body,
    mayShed = false,
    mayFail = false,
    responseSecondsMax,
  } = load;
  const args = [
    `-t${loadThreads}`,
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    ...(responseSecondsMax === undefined ? [] : [`--timeout=${responseSecondsMax}s`]),
    ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
    ...(requests === undefined ? [] : ['-s', requestsScript]),
    ...(body === undefined ? [] : ['-s', constantScript]),
    url,
    ...(requests === undefined ? [] : ['--', ...scriptArgs(requests)]),
    ...(body === undefined ? [] : ['--', 'POST', body]),
  ];
  const text = await environment.run('wrk', args, { msMax: seconds * 1_000 + loadGraceMs });
  const wrong = /^\s*(?:Socket errors|Non-2xx or 3xx responses|Unexpected responses): .*$/gm;
  const complaints = text.match(wrong);
  if (complaints !== null && !mayShed && !mayFail)
    throw new Error(`${url}: ${complaints.map((line) => line.trim()).join('; ')}`);
  const requestCount = Number(/(\d+) requests in /.exec(text)?.[1]);
  const requestsPerSecond = Number(/^Requests\/sec:\s+([\d.]+)$/m.exec(text)?.[1]);
  if (!(requestsPerSecond > 0)) throw new Error(`${url}: wrk counted no requests\n${text}`);
  const shed = mayFail ? 0 : Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0);
  const served = 1 - shed / requestCount;
  return { requests: requestCount - shed, requestsPerSecond: requestsPerSecond * served, p99Ms: p99Of(text) };
}

const msByUnit: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };

function p99Of(text: string): number {
  const [, figure, unit = ''] = /^\s*99%\s+([\d.]+)(us|ms|s|m)\b/m.exec(text) ?? [];
  return Number(figure) * (msByUnit[unit] ?? Number.NaN);
}

function scriptArgs({ method, body = '', expected = '', items }: Requests): string[] {
  const { tables = 1, perTable = 1 } = items.kind === 'new' ? items : {};
  const which = items.kind === 'new' ? [items.stream, tables, perTable] : [items.count, randomInt(seeds)];
  return [method, body, expected, items.kind, ...which.map(String)];
}

/** The body that creates or updates an item, with a new version of its name. */
export const itemBody = JSON.stringify({ id: idPlaceholder, name: nameText(versionPlaceholder) });

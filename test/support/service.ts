import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { ApiKeys } from '../../src/access/api-keys.ts';
import { initStore, openEngine } from '../../src/app/adapters.ts';
import { type Service, type ServiceOptions, startService } from '../../src/app/service.ts';
import { openLog } from '../../src/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { Engine } from '../../src/storage/engine.ts';

const dynamo = process.env.TEST_STORE === 'dynamodb' ? await import('./dynamodb/environment.ts') : undefined;

export interface TestServiceOptions extends Partial<Omit<ServiceOptions, 'log'>> {
  /** Environment variables, beside a free port and a folder of its own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Path of a `counterfoil.json`. */
  readonly file?: string;
  /** Whether no API key is made for a service that needs one, because it has a real processor. */
  readonly keyless?: boolean;
  /** A data folder that outlives this service; by default a new one that is removed after the test. */
  readonly data?: string;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

export interface TestService extends Service {
  readonly data: string;
  /** What `send` adds where the service needs a key. */
  readonly keyHeader: Readonly<Record<string, string>>;
  /** Every log line so far. */
  readonly logged: () => string;
  /** Sends a body as JSON (a string or bytes go out as they are) and reads the whole answer. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>;
  get(path: string, headers?: Record<string, string>): Promise<TestResponse>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<TestResponse>;
}

/** A test process is its service's callers as well: how busy its event loop is tells nothing of the service. */
export const unhurried = { loopTurnMsMax: Infinity, eventLoopDelayMsMax: Infinity };

/**
 * The real service, wired by `main.ts`, on a free port and a real LMDB folder, or on DynamoDB where `TEST_STORE` says so;
 * stopped after the test.
 */
export async function startTestService(
  t: TestContext,
  options: TestServiceOptions = {},
): Promise<TestService> {
  const {
    env = {},
    file = '/nonexistent/counterfoil.json',
    simulate = true,
    now,
    diskReserveBytes,
    storeCallMsMax,
    responseStallMs,
    ownerSilenceMsMax,
    load = unhurried,
  } = options;
  const data = options.data ?? newDataFolder(t);
  const lines = new PassThrough();
  const log: string[] = [];
  lines.on('data', (line: Buffer) => log.push(line.toString()));
  const store = dynamo?.environmentOf(data) ?? {};
  const settings = loadSettings({
    env: { PORT: '0', COUNTERFOIL_DATA: data, ...unlimited(env), ...store, ...env },
    file,
    simulate,
  });
  if (settings.store === 'dynamodb') await initStore(settings);
  const hasProcessor = settings.stripe.key !== undefined || settings.square.accessToken !== undefined;
  const key = hasProcessor && !options.keyless ? await adminKey(data) : undefined;
  const keyHeader = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const service = await startService(settings, {
    simulate,
    log: openLog('debug', lines),
    ...(now === undefined ? {} : { now }),
    ...(storeCallMsMax === undefined ? {} : { storeCallMsMax }),
    ...(responseStallMs === undefined ? {} : { responseStallMs }),
    ...(ownerSilenceMsMax === undefined ? {} : { ownerSilenceMsMax }),
    ...(diskReserveBytes === undefined ? {} : { diskReserveBytes }),
    load,
  });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  atEnd(t, stop);

  const send: TestService['send'] = async (method, path, body, headers = {}) => {
    const origin = path.includes('/stage/') ? service.paymentOrigin : service.origin;
    const response = await fetch(origin + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...keyHeader,
        ...headers,
      },
      ...(body === undefined ? {} : { body: bodyOf(body) }),
    });
    const text = await response.text();
    const isInPages = path.endsWith('/read') && response.headers.get('read-consistency') === 'pages';
    const json = isInPages ? sorted(parsed(text)) : parsed(text);
    return { status: response.status, headers: response.headers, text, json };
  };
  return {
    ...service,
    stop,
    data,
    keyHeader,
    logged: () => log.join(''),
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
  };
}

/** With a real processor there are keys, and so limits, which few tests are about. */
export function unlimited(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const hasProcessor =
    env.COUNTERFOIL_STRIPE_KEY !== undefined || env.COUNTERFOIL_SQUARE_ACCESS_TOKEN !== undefined;
  const names = ['COUNTERFOIL_LIMIT_CHARGES', 'COUNTERFOIL_LIMIT_REQUESTS', 'COUNTERFOIL_LIMIT_DECLINES'];
  return hasProcessor ? Object.fromEntries(names.map((name) => [name, '0'])) : {};
}

/** Of the name that it has in every service on the same data: so it has the idempotency keys of the one before. */
export async function adminKey(data: string): Promise<string> {
  const engine = await openStoreOf(data);
  try {
    const keys = new ApiKeys(engine, 'cli');
    return (await keys.create({ kind: 'secret', name: 'test admin', scopes: ['admin'] })).text;
  } finally {
    await engine.close();
  }
}

const endings = new WeakMap<TestContext, (() => unknown)[]>();

/** Undoes what a test began, the last first: a service stops before its folder goes. */
function atEnd(t: TestContext, undo: () => unknown): void {
  const undone = endings.get(t);
  if (undone !== undefined) {
    undone.push(undo);
    return;
  }
  const list = [undo];
  endings.set(t, list);
  t.after(async () => {
    for (const each of list.reverse()) await each();
  });
}

/** A folder for data that is removed, with the key beside it, after the test. */
export function newDataFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-test-'));
  atEnd(t, () => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'data');
}

function bodyOf(body: unknown): string | Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Uint8Array.from(body) : JSON.stringify(body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What an engine of pages tells in an order of its own, as the tests compare it: by id. */
// biome-ignore lint/suspicious/noExplicitAny: answers are of every shape
function sorted(json: any): unknown {
  const bytes = ({ id }: { id: string }) => Buffer.from(id);
  if (!Array.isArray(json?.body)) return json;
  return { ...json, body: [...json.body].sort((one, other) => bytes(one).compare(bytes(other))) };
}

/** The store of a service that has stopped, or has not begun. */
export async function openStoreOf(data: string): Promise<Engine> {
  const env = { COUNTERFOIL_DATA: data, ...dynamo?.environmentOf(data) };
  const file = '/nonexistent/counterfoil.json';
  const settings = loadSettings({ env, file, simulate: false });
  if (settings.store === 'dynamodb') await initStore(settings);
  return openEngine(settings, openLog('error'));
}

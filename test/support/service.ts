import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { ApiKeys } from '../../src/access/keys/api-keys.ts';
import { isLoopback } from '../../src/addresses.ts';
import { initStore, openEngine } from '../../src/app/adapters.ts';
import { type Service, type ServiceOptions, startService } from '../../src/app/service.ts';
import { openLog } from '../../src/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { Settings } from '../../src/settings/schema.ts';
import type { Engine } from '../../src/storage/engine.ts';

const dynamo = process.env.TEST_STORE === 'dynamodb' ? await import('./dynamodb/environment.ts') : undefined;

export interface TestServiceOptions extends Partial<Omit<ServiceOptions, 'log'>> {
  /** Environment variables in addition to a free port and a new data folder. */
  readonly env?: Readonly<Record<string, string>>;
  /** The path of a `counterfoil.json`. */
  readonly file?: string;
  /** Whether to create no API key for a service that needs one because of its settings. */
  readonly keyless?: boolean;
  /** A data folder that outlives this service; by default a new one that is removed after the test. */
  readonly data?: string;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any;
}

export interface TestService extends Service {
  readonly data: string;
  /** The header that `send` adds if the service needs a key. */
  readonly keyHeader: Readonly<Record<string, string>>;
  /** Every log line so far. */
  readonly logged: () => string;
  /** Sends a body as JSON (a string or bytes unchanged) and reads the whole response. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>;
  get(path: string, headers?: Record<string, string>): Promise<TestResponse>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<TestResponse>;
}

/** The test process also runs the callers, so the load of its event loop is not the load of the service. */
export const unhurried = { requestWaitMsMax: Infinity, eventLoopDelayMsMax: Infinity };

/**
 * The real service on a free port and a real LMDB folder, or on DynamoDB if `TEST_STORE` is `dynamodb`. It is stopped
 * after the test.
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
    snapshots,
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
  const key = options.keyless ? undefined : await neededKey(settings, data);
  const keyHeader = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const service = await startService(settings, {
    simulate,
    log: openLog('debug', lines),
    ...(now === undefined ? {} : { now }),
    ...(storeCallMsMax === undefined ? {} : { storeCallMsMax }),
    ...(responseStallMs === undefined ? {} : { responseStallMs }),
    ...(ownerSilenceMsMax === undefined ? {} : { ownerSilenceMsMax }),
    ...(snapshots === undefined ? {} : { snapshots }),
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

/** Turns off the limits that a service with a real processor has, because few tests are about them. */
export function unlimited(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const hasProcessor =
    env.COUNTERFOIL_STRIPE_KEY !== undefined || env.COUNTERFOIL_SQUARE_ACCESS_TOKEN !== undefined;
  const names = ['COUNTERFOIL_LIMIT_CHARGES', 'COUNTERFOIL_LIMIT_REQUESTS', 'COUNTERFOIL_LIMIT_DECLINES'];
  return hasProcessor ? Object.fromEntries(names.map((name) => [name, '0'])) : {};
}

/** The key of a service that starts only with one. A service that other machines reach through a proxy may have one of its test. */
async function neededKey(settings: Settings, data: string): Promise<string | undefined> {
  const { stripe, square, trustedProxies, publicUrl } = settings;
  if (stripe.key !== undefined || square.accessToken !== undefined) return adminKey(data);
  const isProxied =
    trustedProxies.length > 0 || !isLoopback(new URL(publicUrl ?? 'http://localhost').hostname);
  return isProxied && !(await hasKey(data)) ? adminKey(data) : undefined;
}

async function hasKey(data: string): Promise<boolean> {
  if (dynamo === undefined && !existsSync(data)) return false;
  return onStore(data, async (engine) => (await new ApiKeys(engine, 'cli').list()).length > 0);
}

/** Creates an admin key. Its name is always the same, so it takes over the idempotency keys of an earlier service. */
export function adminKey(data: string): Promise<string> {
  return onNewStore(data, 'an admin key', async (engine) => {
    const keys = new ApiKeys(engine, 'cli');
    return (await keys.create({ kind: 'secret', name: 'test admin', scopes: ['admin'] })).text;
  });
}

interface Template<Result> {
  readonly folder: string;
  readonly result: Result;
}

const templates = new Map<string, Promise<Template<unknown>>>();
const templateFolders: string[] = [];
process.once('exit', () => {
  for (const folder of templateFolders) rmSync(folder, { recursive: true, force: true });
});

/**
 * Does some work on the store of a folder. For a new folder the work is done once per process, on a template that is copied: a file is
 * copied sooner than a store is opened.
 *
 * @param what the same text for the same work
 */
export async function onNewStore<Result>(
  data: string,
  what: string,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  if (dynamo !== undefined || existsSync(data)) return onStore(data, work);
  const known = templates.get(what) ?? newTemplate(work);
  templates.set(what, known);
  const { folder, result } = (await known) as Template<Result>;
  cpSync(folder, data, { recursive: true });
  return result;
}

async function newTemplate<Result>(work: (engine: Engine) => Promise<Result>): Promise<Template<Result>> {
  const parent = mkdtempSync(join(tmpdir(), 'counterfoil-template-'));
  templateFolders.push(parent);
  const folder = join(parent, 'data');
  return { folder, result: await onStore(folder, work) };
}

/** Does some work on the store of a folder that this process does not have open. */
export async function onStore<Result>(
  data: string,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  const engine = await openStoreOf(data);
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

const endings = new WeakMap<TestContext, (() => unknown)[]>();

/** Runs the cleanups of a test, the last one first. */
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

/** A data folder. It and the key file next to it are removed after the test. */
export function newDataFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'counterfoil-test-'));
  // A hook that a hook registers runs last: the stores in the folder are closed by then. A writer that finds no folder ends the process.
  atEnd(t, () => t.after(() => rmSync(folder, { recursive: true, force: true })));
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

/** Sorts a table by id, because an engine that reads in pages returns the items in its own order. */
// biome-ignore lint/suspicious/noExplicitAny: responses have every shape
function sorted(json: any): unknown {
  const bytes = ({ id }: { id: string }) => Buffer.from(id);
  if (!Array.isArray(json?.body)) return json;
  return { ...json, body: [...json.body].sort((one, other) => bytes(one).compare(bytes(other))) };
}

/** Opens the store of a service that has stopped or not yet started. */
export async function openStoreOf(data: string): Promise<Engine> {
  const env = { COUNTERFOIL_DATA: data, ...dynamo?.environmentOf(data) };
  const file = '/nonexistent/counterfoil.json';
  const settings = loadSettings({ env, file, simulate: false });
  if (settings.store === 'dynamodb') await initStore(settings);
  return openEngine(settings, openLog('error'));
}

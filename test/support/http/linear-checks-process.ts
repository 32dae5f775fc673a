import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Service, startService } from '../../../src/app/service.ts';
import { openLog } from '../../../src/log.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { newKey } from '../access/keys.ts';
import { randomFrom } from '../random.ts';
import { unhurried } from '../service.ts';
import { pureChecks } from './pure-checks.ts';
import { exchange } from './raw-http.ts';
import { type Repetition, textOf, WorstTexts } from './repetitions.ts';
import { type RequestPlace, requestPlaces } from './request-places.ts';

/**
 * A process that searches for the slowest texts of a check and measures the check on them. If a text freezes it, the
 * test that started it kills it; its last message has the text.
 */
export interface Task {
  readonly name: string;
  readonly seed: number;
  readonly searchMs: number;
}

/** What the process is about to do, or has done. */
export type Report =
  | { readonly kind: 'measuring'; readonly text: Repetition; readonly bytes: number }
  | {
      readonly kind: 'measured';
      readonly text: Repetition;
      readonly sizes: Sizes;
      readonly ms: Times;
    }
  | { readonly kind: 'done'; readonly tried: number };

export interface Sizes {
  readonly search: number;
  readonly small: number;
  readonly large: number;
}

const bodySizes: Sizes = { search: 4 * 1024, small: 64 * 1024, large: 1024 * 1024 };
/** The headers of a request may have 16 KiB; the text leaves room for the others. */
const headSizes: Sizes = { search: 2 * 1024, small: 960, large: 15 * 1024 };
/** Less than the 1 MiB that a body may have. */
const wireSizes: Sizes = { search: 4 * 1024, small: 60 * 1024, large: 1_000 * 1024 };
const candidates = 2;
const roundsMax = 12;
/** How much more than in proportion to the size a check may take, because of caches and garbage
 * collection. For quadratic time it would be 16. */
const growthMax = 5;
/** A check that takes less is never a problem. */
const alwaysFineMs = 5;
const readRuns = { search: 1, small: 5, large: 3 };
/** The search ends at a text that takes this long at the search size. */
const badEnoughMs = 50;

/** The shortest times at the small and at the large size. */
export type Times = readonly [number, number];

export function growsLikeItsSize([small, large]: Times, sizes: Sizes): boolean {
  return large <= alwaysFineMs || large / small <= (sizes.large / sizes.small) * growthMax;
}

let service: Service | undefined;

async function checkOf(
  name: string,
): Promise<{ readonly sizes: Sizes; readonly isBody: boolean; run(text: string): unknown }> {
  const pure = pureChecks[name];
  if (pure !== undefined) return { sizes: bodySizes, isBody: true, run: pure };
  const place = requestPlaces[name];
  if (place === undefined) throw new Error(`there is no check named ${name}`);
  service ??= await start();
  const { origin } = service;
  return {
    sizes: sizesOf(place),
    isBody: place.isBody,
    run: (text) => exchange(origin, Buffer.from(withKey(name, place.requestOf(origin, text)))),
  };
}

function sizesOf({ isBody, bytesMax }: RequestPlace): Sizes {
  if (bytesMax === undefined) return isBody ? wireSizes : headSizes;
  return { search: bytesMax / 4, small: bytesMax / 16, large: bytesMax };
}

/** Otherwise the service would reject the request before it reads the text. */
function withKey(name: string, request: string): string {
  if (name.startsWith('header Authorization')) return request;
  return request.replace(' HTTP/1.1\r\n', (end) => `${end}Authorization: Bearer ${key}\r\n`);
}

let key = '';

/** Starts the real service, with this machine as a trusted proxy. */
async function start(): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'counterfoil-linear-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const env = {
    PORT: '0',
    COUNTERFOIL_DATA: join(folder, 'data'),
    COUNTERFOIL_TRUSTED_PROXIES: '127.0.0.1',
    COUNTERFOIL_CORS_ORIGINS: 'https://shop.example',
    COUNTERFOIL_STRIPE_WEBHOOK_SECRETS: 'whsec_abc',
    COUNTERFOIL_LOG_LEVEL: 'silent',
    COUNTERFOIL_LIMIT_REQUESTS: '0',
    COUNTERFOIL_LIMIT_CHARGES: '0',
    COUNTERFOIL_LIMIT_DECLINES: '0',
    COUNTERFOIL_LIMIT_SIGN_INS: '0',
  };
  key = await newKey(env.COUNTERFOIL_DATA, { scopes: ['admin'] });
  const settings = loadSettings({ env, file: '/nonexistent/counterfoil.json', simulate: true });
  return startService(settings, { simulate: true, log: openLog('silent'), load: unhurried });
}

async function carryOut({ name, seed, searchMs }: Task): Promise<void> {
  const { sizes, isBody, run } = await checkOf(name);
  const measure = async (text: Repetition, bytes: number, runs: number): Promise<number> => {
    report({ kind: 'measuring', text, bytes });
    const sent = textOf(text, bytes);
    let best = Number.POSITIVE_INFINITY;
    for (let n = 0; n < runs; n++) {
      const began = performance.now();
      try {
        await run(sent);
      } catch {
        // A rejected text has been checked as well.
      }
      best = Math.min(best, performance.now() - began);
    }
    return best;
  };

  const worst = new WorstTexts(randomFrom(seed), isBody);
  const endAt = performance.now() + searchMs;
  let tried = 0;
  for (let ms = 0; performance.now() < endAt && ms < badEnoughMs; tried++) {
    const text = worst.next();
    ms = await measure(text, sizes.search, readRuns.search);
    // Measures again, in case the machine was busy.
    if (ms >= badEnoughMs) ms = await measure(text, sizes.search, readRuns.large);
    worst.note(text, ms);
  }
  for (const text of worst.worst(candidates)) {
    let ms: Times = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // A text that was slow because of a busy machine is fast in another round.
    for (let round = 0; round === 0 || (round < roundsMax && !growsLikeItsSize(ms, sizes)); round++) {
      const small = await measure(text, sizes.small, readRuns.small);
      const large = await measure(text, sizes.large, readRuns.large);
      ms = [Math.min(ms[0], small), Math.min(ms[1], large)];
    }
    report({ kind: 'measured', text, sizes, ms });
  }
  report({ kind: 'done', tried });
}

function report(message: Report): void {
  process.send?.(message);
}

process.on('message', (task: Task) => void carryOut(task));
process.once('disconnect', () => process.exit());

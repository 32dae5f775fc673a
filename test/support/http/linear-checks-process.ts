import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Service, startService } from '../../../src/app/service.ts';
import { openLog } from '../../../src/log.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { randomFrom } from '../random.ts';
import { unhurried } from '../service.ts';
import { pureChecks } from './pure-checks.ts';
import { exchange } from './raw-http.ts';
import { type Repetition, textOf, WorstTexts } from './repetitions.ts';
import { type RequestPlace, requestPlaces } from './request-places.ts';

/**
 * A process that looks for the worst texts of a check and measures the check on them. One that a text freezes is killed by
 * the test that started it, which knows by the last message what it was at.
 */
export interface Task {
  readonly name: string;
  readonly seed: number;
  readonly searchMs: number;
}

/** What it is about to do, or has done. */
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
/** The head of a request has 16 KiB, of which a text leaves some to the rest. */
const headSizes: Sizes = { search: 2 * 1024, small: 960, large: 15 * 1024 };
/** Less than the mebibyte that a body may have. */
const wireSizes: Sizes = { search: 4 * 1024, small: 60 * 1024, large: 1_000 * 1024 };
const candidates = 2;
const roundsMax = 12;
/** A check may take so many times longer than in proportion to the size: caches end, garbage is
 * collected. Twice as many bytes that take four times as long would make it 16. */
const growthMax = 5;
/** Whatever takes less is no attack. */
const alwaysFineMs = 5;
const runsOf = { search: 1, small: 5, large: 3 };
/** A text that takes so much longer at the small size than the usual one is bad enough: the search ends. */
const badEnoughMs = 50;

/** The best times at the small and at the large size. */
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
  if (place === undefined) throw new Error(`there is no check of the name ${name}`);
  service ??= await start();
  const { origin } = service;
  return {
    sizes: sizesOf(place),
    isBody: place.isBody,
    run: (text) => exchange(origin, Buffer.from(place.requestOf(origin, text))),
  };
}

function sizesOf({ isBody, bytesMax }: RequestPlace): Sizes {
  if (bytesMax === undefined) return isBody ? wireSizes : headSizes;
  return { search: bytesMax / 4, small: bytesMax / 16, large: bytesMax };
}

/** The real service, with a trusted proxy on this machine. */
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
  };
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
        // What is rejected has been checked as well.
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
    ms = await measure(text, sizes.search, runsOf.search);
    // Perhaps it was the machine.
    if (ms >= badEnoughMs) ms = await measure(text, sizes.search, runsOf.large);
    worst.note(text, ms);
  }
  for (const text of worst.worst(candidates)) {
    let ms: Times = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    // What was slow by the fault of the machine is not slow again.
    for (let round = 0; round === 0 || (round < roundsMax && !growsLikeItsSize(ms, sizes)); round++) {
      const small = await measure(text, sizes.small, runsOf.small);
      const large = await measure(text, sizes.large, runsOf.large);
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

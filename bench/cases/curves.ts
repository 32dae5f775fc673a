import { join } from 'node:path';
import type { Case, Conditions } from '../case.ts';
import type { Curve, Point, Series } from '../curve.ts';
import type { Environment } from '../environment.ts';
import { fixtureTable, type Tables } from '../fixtures.ts';
import { takeStream } from '../items.ts';
import { compareInRounds, type Round, roundLabels } from '../measure.ts';
import { readOnce, timeReads, type WholeResponse } from '../reading.ts';
import { memoryOfReads } from '../reads-at-once.ts';
import { startNginx } from '../rivals/nginx.ts';
import { startService } from '../servers.ts';
import { missingTool, nginx } from '../tools.ts';
import { itemBody, putUnderLoad, tablePlaceholder } from '../wrk.ts';

/** Short, because there are many points and only the shape of the curve matters. */
const pointSeconds = 1;
const nanosecondsPerMs = 1_000_000;
const memoryReaders = 4;
/** A table of this size takes the creates of all rounds and still has about the same size. */
const sharedItemsLeast = 1_000_000;
/** About the number of creates of a point. The tables of a point have as many items, so each doubles at most. */
const createdItems = 50_000;
const createdTablesMax = 1_000;

/** How the time of reads, the rate of creates and the memory depend on the size of the table. */
export const curves: Case = {
  name: 'curves',
  summary: 'measures reads, creates and memory at every size of the table, by powers of ten',

  async measure(environment, conditions) {
    const { sizes, fixtures, log } = conditions;
    const tables = { ...fixtureTables(sizes.powers), ...createdTables(conditions) };
    const data = await fixtures.with(environment, tables, log);
    const scene: Scene = { environment, data, conditions: { ...conditions, seconds: pointSeconds } };
    const { curve: read, responses } = await readCurve(scene);
    const memory = await memoryCurve(scene, responses);
    return {
      rows: [],
      curves: [read, await createCurve(scene), memory],
      remarks: [
        `Every point is ${pointSeconds} s of load in each round, or one response if that takes longer. Creates go to ` +
          `tables of the given size, and to the next table before one has more than doubled; a table of ` +
          `${sharedItemsLeast.toLocaleString('en')} items or more takes the creates of all rounds.`,
      ],
    };
  },
};

interface Scene {
  readonly environment: Environment;
  readonly data: string;
  readonly conditions: Conditions;
}

type Responses = ReadonlyMap<number, WholeResponse>;

async function readCurve({
  environment,
  data,
  conditions,
}: Scene): Promise<{ curve: Curve; responses: Responses }> {
  const { powers } = conditions.sizes;
  const service = await startService(environment, conditions, data);
  const urls = new Map(powers.map((size) => [size, `${service.origin}/v3/table/${fixtureTable(size)}/read`]));
  const responses = new Map<number, WholeResponse>();
  for (const [size, url] of urls)
    responses.set(size, await readOnce(url, size, responseFile(environment, size)));
  const rival =
    missingTool(nginx) === undefined ? await startNginx(environment, environment.folder) : undefined;

  const sides: Record<string, (round: Round) => Promise<number>> = {};
  for (const [size, url] of urls) {
    const { bytes, items } = responses.get(size) as WholeResponse;
    const perItem =
      (from: string) =>
      async ({ seconds }: Round) => {
        const load = { url: from, connections: 1, seconds, bodyBytes: bytes };
        return ((await timeReads(environment, load)).responseMs * nanosecondsPerMs) / items;
      };
    sides[`ours ${size}`] = perItem(url);
    if (rival !== undefined) sides[`nginx ${size}`] = perItem(`${rival.origin}/${responseName(size)}`);
  }
  conditions.log('  read, in ns per item');
  const figures = await compareInRounds(conditions, sides);
  await environment.stop(service.program);
  if (rival !== undefined) await environment.stop(rival.program);
  const series = (name: string, side: string): Series => ({
    name,
    points: powers.flatMap((items) => pointOf(items, figures[`${side} ${items}`])),
  });
  const ours = series('Counterfoil', 'ours');
  const curve: Curve = {
    file: 'read-time-by-size',
    title: 'Reading a whole table: nanoseconds per item',
    subtitle: `Items of 46 bytes, one reader at a time. ${roundsText(conditions)}`,
    scale: 'log',
    series: rival === undefined ? [ours] : [ours, series('nginx, sendfile', 'nginx')],
  };
  return { curve, responses };
}

async function memoryCurve(scene: Scene, responses: Responses): Promise<Curve> {
  const { environment, data, conditions } = scene;
  const { rounds, sizes, log } = conditions;
  const idle = new Map<number, number[]>(sizes.powers.map((size) => [size, []]));
  const peak = new Map<number, number[]>(sizes.powers.map((size) => [size, []]));
  log('  memory');
  for (let round = 1; round <= rounds; round++) {
    for (const [size, response] of responses) {
      const reads = { data, table: fixtureTable(size), response, readers: memoryReaders, stalled: 0 };
      const memory = await memoryOfReads(environment, conditions, reads);
      idle.get(size)?.push(memory.idle);
      peak.get(size)?.push(memory.peak);
    }
    const peaks = sizes.powers.map((size) => `${size} ${Math.round(peak.get(size)?.at(-1) ?? 0)}`);
    log(`  round-${round}: ${peaks.join(', ')}`);
  }
  const series = (name: string, figures: Map<number, number[]>): Series => ({
    name,
    points: sizes.powers.flatMap((items) => pointOf(items, figures.get(items))),
  });
  return {
    file: 'memory-by-size',
    title: 'Memory of the service: megabytes',
    subtitle: `Anonymous memory, ${memoryReaders} readers of the whole table at once. ${roundsText(conditions)}`,
    scale: 'linear',
    series: [series(`${memoryReaders} readers`, peak), series('idle', idle)],
  };
}

async function createCurve({ environment, data, conditions }: Scene): Promise<Curve> {
  const { powers } = conditions.sizes;
  const service = await startService(environment, conditions, data);
  const createIn =
    (size: number) =>
    async ({ label, seconds }: Round) => {
      const { tables, prefix } = createdIn(size, label);
      const table = size < sharedItemsLeast ? `${prefix}${tablePlaceholder}` : fixtureTable(size);
      const load = await putUnderLoad(environment, {
        url: `${service.origin}/v3/table/${table}/create`,
        seconds,
        requests: {
          method: 'POST',
          body: itemBody,
          items: { kind: 'new', stream: takeStream(), tables, perTable: size },
        },
      });
      return load.requestsPerSecond;
    };
  conditions.log('  creates per second');
  const figures = await compareInRounds<string>(
    conditions,
    Object.fromEntries(powers.map((size) => [`of ${size}`, createIn(size)])),
  );
  await environment.stop(service.program);
  return {
    file: 'create-rate-by-size',
    title: 'Durable creates a second',
    subtitle: `64 connections, ids in random order. ${roundsText(conditions)}`,
    scale: 'linear',
    series: [
      {
        name: 'Counterfoil',
        points: powers.flatMap((items) => pointOf(items, figures[`of ${items}`])),
      },
    ],
  };
}

function fixtureTables(powers: readonly number[]): Tables {
  return Object.fromEntries(powers.map((size) => [fixtureTable(size), size]));
}

/** The tables that the creates of each round go to, each with the given number of items. */
function createdTables(conditions: Conditions): Tables {
  const small = conditions.sizes.powers.filter((size) => size < sharedItemsLeast);
  const entries = small.flatMap((size) =>
    roundLabels(conditions).flatMap((label) => {
      const { tables, prefix } = createdIn(size, label);
      return Array.from(
        { length: tables },
        (_, number) => [`${prefix}${tableNumber(number)}`, size] as const,
      );
    }),
  );
  return Object.fromEntries(entries);
}

function createdIn(size: number, label: string): { readonly tables: number; readonly prefix: string } {
  const tables = Math.min(createdTablesMax, Math.ceil(createdItems / size));
  return { tables, prefix: `created-${size}-${label}-` };
}

function tableNumber(number: number): string {
  return String(number).padStart(tablePlaceholder.length, '0');
}

function pointOf(items: number, figures: readonly number[] | undefined): Point[] {
  return figures === undefined ? [] : [{ items, figures }];
}

function responseName(size: number): string {
  return `response-${size}.json`;
}

function responseFile(environment: Environment, size: number): string {
  return join(environment.folder, responseName(size));
}

function roundsText({ rounds }: Conditions): string {
  return `Medians and ranges of ${rounds} rounds.`;
}

import { join } from 'node:path';
import type { Case, Conditions } from '../case.ts';
import type { Curve, Point, Series } from '../curve.ts';
import { takeStream } from '../items.ts';
import { compareInRounds, type Round, roundLabels } from '../measure.ts';
import { readOnce, timeReads, type WholeAnswer } from '../reading.ts';
import { memoryOfReads } from '../reads-at-once.ts';
import { startNginx } from '../rivals/nginx.ts';
import { startService } from '../servers.ts';
import { stockTable, type Tables } from '../stock.ts';
import { missingTool, nginx } from '../tools.ts';
import type { Workplace } from '../workplace.ts';
import { itemBody, putUnderLoad, tablePlaceholder } from '../wrk.ts';

/** Many points, each of them short: what is looked for is the shape. */
const pointSeconds = 1;
const nanosecondsPerMs = 1_000_000;
const memoryReaders = 4;
/** From here on one table takes the creates of all rounds, and is still about as large as it was. */
const sharedItemsLeast = 1_000_000;
/** About what a point's creates are, so that a small table at most doubles before the load goes on to the next. */
const createdItems = 50_000;
const createdTablesMax = 1_000;

/** What reading, creating and memory cost from the smallest table to the largest. */
export const curves: Case = {
  name: 'curves',
  summary: 'reads, creates and memory at every size of the table, by powers of ten',

  async measure(workplace, conditions) {
    const { sizes, stock, tell } = conditions;
    const tables = { ...stockTables(sizes.powers), ...createdTables(conditions) };
    const data = await stock.with(workplace, tables, tell);
    const scene: Scene = { workplace, data, conditions: { ...conditions, seconds: pointSeconds } };
    const { curve: read, answers } = await readCurve(scene);
    const memory = await memoryCurve(scene, answers);
    return {
      rows: [],
      curves: [read, await createCurve(scene), memory],
      remarks: [
        `Every point is ${pointSeconds} s of load, or one answer where that takes longer, in each round. Creates ` +
          `meet tables of the size and double them at most, before they go on to the next; a table of ` +
          `${sharedItemsLeast.toLocaleString('en')} items or more takes the creates of all rounds.`,
      ],
    };
  },
};

interface Scene {
  readonly workplace: Workplace;
  readonly data: string;
  readonly conditions: Conditions;
}

type Answers = ReadonlyMap<number, WholeAnswer>;

async function readCurve({
  workplace,
  data,
  conditions,
}: Scene): Promise<{ curve: Curve; answers: Answers }> {
  const { powers } = conditions.sizes;
  const service = await startService(workplace, conditions, data);
  const urls = new Map(powers.map((size) => [size, `${service.origin}/v3/table/${stockTable(size)}/read`]));
  const answers = new Map<number, WholeAnswer>();
  for (const [size, url] of urls) answers.set(size, await readOnce(url, size, answerFile(workplace, size)));
  const beside = missingTool(nginx) === undefined ? await startNginx(workplace, workplace.folder) : undefined;

  const sides: Record<string, (round: Round) => Promise<number>> = {};
  for (const [size, url] of urls) {
    const { bytes, items } = answers.get(size) as WholeAnswer;
    const perItem =
      (from: string) =>
      async ({ seconds }: Round) => {
        const load = { url: from, connections: 1, seconds, bodyBytes: bytes };
        return ((await timeReads(workplace, load)).answerMs * nanosecondsPerMs) / items;
      };
    sides[`ours ${size}`] = perItem(url);
    if (beside !== undefined) sides[`nginx ${size}`] = perItem(`${beside.origin}/${answerName(size)}`);
  }
  conditions.tell('  read, in ns per item');
  const figures = await compareInRounds(conditions, sides);
  await workplace.stop(service.program);
  if (beside !== undefined) await workplace.stop(beside.program);
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
    series: beside === undefined ? [ours] : [ours, series('nginx, sendfile', 'nginx')],
  };
  return { curve, answers };
}

async function memoryCurve(scene: Scene, answers: Answers): Promise<Curve> {
  const { workplace, data, conditions } = scene;
  const { rounds, sizes, tell } = conditions;
  const idle = new Map<number, number[]>(sizes.powers.map((size) => [size, []]));
  const peak = new Map<number, number[]>(sizes.powers.map((size) => [size, []]));
  tell('  memory');
  for (let round = 1; round <= rounds; round++) {
    for (const [size, answer] of answers) {
      const reads = { data, table: stockTable(size), answer, readers: memoryReaders, stalled: 0 };
      const memory = await memoryOfReads(workplace, conditions, reads);
      idle.get(size)?.push(memory.idle);
      peak.get(size)?.push(memory.peak);
    }
    const told = sizes.powers.map((size) => `${size} ${Math.round(peak.get(size)?.at(-1) ?? 0)}`);
    tell(`  round-${round}: ${told.join(', ')}`);
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

async function createCurve({ workplace, data, conditions }: Scene): Promise<Curve> {
  const { powers } = conditions.sizes;
  const service = await startService(workplace, conditions, data);
  const createIn =
    (size: number) =>
    async ({ label, seconds }: Round) => {
      const { tables, prefix } = createdIn(size, label);
      const table = size < sharedItemsLeast ? `${prefix}${tablePlaceholder}` : stockTable(size);
      const load = await putUnderLoad(workplace, {
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
  conditions.tell('  creates a second');
  const figures = await compareInRounds<string>(
    conditions,
    Object.fromEntries(powers.map((size) => [`of ${size}`, createIn(size)])),
  );
  await workplace.stop(service.program);
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

function stockTables(powers: readonly number[]): Tables {
  return Object.fromEntries(powers.map((size) => [stockTable(size), size]));
}

/** Tables that a round's creates go to, each of them of the size. */
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

function answerName(size: number): string {
  return `answer-${size}.json`;
}

function answerFile(workplace: Workplace, size: number): string {
  return join(workplace.folder, answerName(size));
}

function roundsText({ rounds }: Conditions): string {
  return `Medians and ranges of ${rounds} rounds.`;
}

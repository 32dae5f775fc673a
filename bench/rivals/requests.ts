import type { Conditions } from '../case.ts';
import type { Environment } from '../environment.ts';
import { idNumber } from '../items.ts';
import { countText } from '../measure.ts';
import { putUnderLoad } from '../wrk.ts';
import { type Cell, compareSides, firstLineOf, type Side } from './compare.ts';
import {
  type Contender,
  freshOf,
  itemsWithin,
  pageItems,
  type RequestKind,
  type Running,
  sendOne,
  tenItems,
} from './contender.ts';
import { stopAll } from './footprint.ts';
import type { RateRow } from './page.ts';
import { readWhole, wholeBytes } from './whole-table.ts';

/** What is measured, and on what. */
export interface Scene {
  readonly environment: Environment;
  readonly conditions: Conditions;
  readonly present: readonly Contender[];
}

/** The filled folder of each contender, by its name. */
export type Folders = ReadonlyMap<string, string>;

/** json-server takes seconds for a write when many are waiting. */
const responseSecondsMax = 20;

/** The rows of single requests, and of the whole table of the same size. */
export async function measureRequests(scene: Scene, folders: Folders): Promise<RateRow[]> {
  const row = (kind: RequestKind) =>
    withRunning(scene, folders, (running) => requestRow(scene, running, kind));
  const reads = [await row('ten'), await row('one'), await row('page')];
  const { medium } = scene.conditions.sizes;
  // Before the writes: the responses of etcd contain revisions, which grow.
  const whole = await withRunning(scene, folders, (running) => wholeRow(scene, running, medium));
  return [...reads, whole, await row('create'), await row('update')];
}

/** The row of a whole table so large that it is measured alone. */
export function measureLarge(scene: Scene, folders: Folders): Promise<RateRow> {
  return withRunning(scene, folders, (running) => wholeRow(scene, running, scene.conditions.sizes.large));
}

/** Each row has newly started servers: webdis gives late responses of one load to the connections of the next. */
async function withRunning(
  scene: Scene,
  folders: Folders,
  measure: (running: ReadonlyMap<string, Running>) => Promise<RateRow>,
): Promise<RateRow> {
  const { running, failed } = await startAll(scene, folders);
  try {
    const { title, cells } = await measure(running);
    return { title, cells: new Map([...cells, ...failed]) };
  } finally {
    for (const each of running.values()) await stopAll(scene.environment, each);
  }
}

/** Those that start on their folders, and why the others do not: a million items may be too many. */
async function startAll({ environment, conditions, present }: Scene, folders: Folders) {
  const running = new Map<string, Running>();
  const failed = new Map<string, Cell>();
  for (const { name, start } of present) {
    const folder = folders.get(name);
    try {
      if (folder === undefined) throw new Error('could not be filled');
      running.set(name, await start(environment, folder, conditions));
    } catch (error) {
      failed.set(name, { missing: firstLineOf(error) });
    }
  }
  return { running, failed };
}

async function requestRow(
  { environment, conditions }: Scene,
  running: ReadonlyMap<string, Running>,
  kind: RequestKind,
): Promise<RateRow> {
  const count = countText(conditions.sizes.medium);
  const titles: Readonly<Record<RequestKind, string>> = {
    ten: `read a table of ${tenItems} items`,
    one: `read one item of ${count}`,
    page: `read a page of ${countText(pageItems)} of ${count}`,
    create: 'create, table empty at first',
    update: `update one item of ${count}`,
  };
  const title = titles[kind];
  const sides = [...running].map(
    ([name, { programs, requests }]): Side => ({
      name,
      programs,
      measure: async ({ seconds, number }) => {
        if (number === 0) checkItems(kind, await sendOne(requests[kind], idNumber(0)));
        const { secondsLeast = 0, ...request } = freshOf(requests[kind]);
        const load = { ...request, seconds: Math.max(seconds, secondsLeast), responseSecondsMax };
        return putUnderLoad(environment, load);
      },
    }),
  );
  conditions.log(`  ${title}`);
  return { title, cells: await compareSides(conditions, sides) };
}

function checkItems(kind: RequestKind, body: string): void {
  const least = { ten: tenItems, one: 1, page: pageItems, create: 0, update: 0 }[kind];
  const items = itemsWithin(body);
  if (items < least) throw new Error(`a response has ${items} items of ${least}: ${body.slice(0, 200)}`);
}

async function wholeRow(
  { environment, conditions }: Scene,
  running: ReadonlyMap<string, Running>,
  items: number,
): Promise<RateRow> {
  const title = `read all of ${countText(items)}`;
  conditions.log(`  ${title}`);
  const unread = new Map<string, Cell>();
  const sides: Side[] = [];
  for (const [name, { programs, whole }] of running) {
    try {
      const bytes = await wholeBytes(whole, items);
      sides.push({
        name,
        programs,
        measure: async ({ seconds }) => {
          const load = { items, connections: 1, seconds };
          const { reads, readsPerSecond } = await readWhole(environment, whole, bytes, load);
          return { requests: reads, requestsPerSecond: readsPerSecond };
        },
      });
    } catch (error) {
      unread.set(name, { missing: firstLineOf(error) });
    }
  }
  return { title, cells: new Map([...(await compareSides(conditions, sides)), ...unread]) };
}

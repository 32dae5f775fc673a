import { join } from 'node:path';
import type { Conditions, Goal, Measured, Row } from './case.ts';
import { flushRemark, requireDisk } from './disk.ts';
import type { Environment } from './environment.ts';
import { fillTables, type Tables } from './fixtures.ts';
import { compareInRounds, countText, type Round, roundLabels } from './measure.ts';
import { readOnce } from './reading.ts';
import { type Rival, startRivals } from './rivals/writes.ts';
import { type Server, startService, startYardstick } from './servers.ts';
import { itemBody, putUnderLoad, type Requests } from './wrk.ts';

/** A write whose 200 promises that it is on disk, compared with bare HTTP and with stores that promise the same. */
export interface DurableWrite {
  readonly name: 'create' | 'update';
  readonly method: 'POST' | 'PUT';
  /** The table of a round. */
  readonly tableOf: (label: string) => string;
  readonly items: (count: number) => Requests['items'];
  /** Whether the table contains all acknowledged writes. Writes in flight when wrk stopped may be in it as well. */
  readonly isStored: (items: { before: number; acknowledged: number; after: number }) => boolean;
}

const connectionGoals = [
  { connections: 64, bound: 0.5 },
  { connections: 256, bound: 0.6 },
] as const;

interface Sides {
  readonly service: Server;
  readonly yardstick: Server;
  readonly rivals: readonly Rival[];
}

export async function measureWrites(
  write: DurableWrite,
  environment: Environment,
  conditions: Conditions,
): Promise<Measured> {
  requireDisk(environment.folder);
  const flush = flushRemark(environment.folder);
  const data = join(environment.folder, 'data');
  await fillTables(environment, data, tablesOf(write, conditions), conditions.log);
  const sides: Sides = {
    service: await startService(environment, conditions, data),
    yardstick: await startYardstick(environment),
    rivals: await startRivals(environment, conditions.sizes.medium),
  };
  const rows: Row[] = [];
  for (const { connections, ...levels } of connectionGoals) {
    conditions.log(`  ${connections} connections`);
    const figures = await compareAt(connections, { write, environment, conditions, sides });
    const name = `${write.name}, ${countText(conditions.sizes.medium)} items, ${connections} connections`;
    rows.push(...rowsOf(name, { of: 'ratio', side: 'least', ...levels }, sides.rivals, figures));
  }
  const measured = sides.rivals.filter(({ load }) => typeof load === 'function');
  return { rows, remarks: [flush, ...new Set(measured.map(({ remark }) => remark))] };
}

function tablesOf({ tableOf }: DurableWrite, conditions: Conditions): Tables {
  const labels = connectionGoals.flatMap(({ connections }) =>
    roundLabels(conditions).map((label) => labelAt(connections, label)),
  );
  return Object.fromEntries(labels.map((label) => [tableOf(label), conditions.sizes.medium]));
}

function labelAt(connections: number, roundLabel: string): string {
  return `${connections}-${roundLabel}`;
}

const yardstickSide = 'node:http';
const ourSide = 'ours';

interface Scene {
  readonly write: DurableWrite;
  readonly environment: Environment;
  readonly conditions: Conditions;
  readonly sides: Sides;
}

function compareAt(connections: number, scene: Scene): Promise<Record<string, number[]>> {
  const { write, environment, conditions, sides } = scene;
  const count = conditions.sizes.medium;
  const load = async (server: Server, round: Round) => {
    const table = `${server.origin}/v3/table/${write.tableOf(labelAt(connections, round.label))}`;
    const outcome = await putUnderLoad(environment, {
      url: `${table}/${write.name}`,
      connections,
      seconds: round.seconds,
      requests: { method: write.method, body: itemBody, items: write.items(count) },
    });
    return { ...outcome, table };
  };
  const rivals = sides.rivals.flatMap(({ name, load: rivalLoad }) => {
    if (typeof rivalLoad !== 'function') return [];
    const side = ({ seconds }: Round) =>
      rivalLoad({ operation: write.name, connections, seconds, items: count });
    return [[name, side] as const];
  });
  return compareInRounds<string>(conditions, {
    [yardstickSide]: async (round) => (await load(sides.yardstick, round)).requestsPerSecond,
    [ourSide]: async (round) => {
      const { requests, requestsPerSecond, table } = await load(sides.service, round);
      const { items } = await readOnce(`${table}/read`, count);
      if (!write.isStored({ before: count, acknowledged: requests, after: items })) {
        throw new Error(
          `${requests} of ${write.name} were acknowledged, but the table now has ${items} items`,
        );
      }
      return requestsPerSecond;
    },
    ...Object.fromEntries(rivals),
  });
}

function rowsOf(
  name: string,
  goal: Goal,
  rivals: readonly Rival[],
  figures: Readonly<Record<string, number[]>>,
): Row[] {
  const row = (yardstick: string, rowGoal: Goal, yardstickFigures: readonly number[]): Row => ({
    name,
    unit: 'requests/s',
    ours: figures[ourSide] ?? [],
    yardstick: { name: yardstick, figures: yardstickFigures },
    goal: rowGoal,
  });
  return [
    row('bare node:http, JSON echo', goal, figures[yardstickSide] ?? []),
    ...rivals.map((rival) =>
      typeof rival.load === 'function'
        ? row(rival.name, rival.goal, figures[rival.name] ?? [])
        : { name, against: rival.name, goal: rival.goal, missing: rival.load.missing },
    ),
  ];
}

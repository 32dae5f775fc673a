import type { Case, Conditions, Goal, Row } from '../case.ts';
import { fixtureTable } from '../fixtures.ts';
import { anyId, takeStream } from '../items.ts';
import { compareInRounds, countText, type Round, roundLabels } from '../measure.ts';
import { startService } from '../servers.ts';
import { idPlaceholder, itemBody, type Load, putUnderLoad } from '../wrk.ts';

const goal: Goal = { of: 'ratio', side: 'least', bound: 0.75 };

interface Operation {
  readonly name: string;
  /** @param count the number of items that the table had at first */
  readonly load: (table: string, count: number) => Omit<Load, 'seconds'>;
}

const create: Operation = {
  name: 'create',
  load: (table) => ({
    url: `${table}/create`,
    requests: { method: 'POST', body: itemBody, items: { kind: 'new', stream: takeStream() } },
  }),
};
const update: Operation = {
  name: 'update',
  load: (table, count) => ({
    url: `${table}/update`,
    requests: { method: 'PUT', body: itemBody, items: { kind: 'known', count } },
  }),
};
const readOne: Operation = {
  name: 'read one (?id=)',
  load: (table, count) => ({
    url: `${table}/read?id=${idPlaceholder}`,
    requests: { method: 'GET', expected: '"an-item-', items: { kind: 'known', count } },
  }),
};

/** The cost of an operation on one item must not grow with its table. */
export const tableSize: Case = {
  name: 'table-size',
  summary: 'creates, updates and reads single items of a huge table and of a small one',

  async measure(environment, conditions) {
    const { sizes, fixtures, log } = conditions;
    const huge = fixtureTable(sizes.huge);
    const tables = { [huge]: sizes.huge, ...smallTables(conditions) };
    const service = await startService(
      environment,
      conditions,
      await fixtures.with(environment, tables, log),
    );

    const rows: Row[] = [];
    for (const operation of [create, update, readOne]) {
      const name = `${operation.name}, ${countText(sizes.huge)} items`;
      log(`  ${operation.name}`);
      if (operation === readOne && !(await readsById(`${service.origin}/v3/table/${huge}`, sizes.huge))) {
        rows.push({ name, goal, missing: 'the service does not support ?id= yet' });
        continue;
      }
      const load = async (table: string, count: number, { seconds }: Round) => {
        const url = `${service.origin}/v3/table/${table}`;
        return (await putUnderLoad(environment, { ...operation.load(url, count), seconds }))
          .requestsPerSecond;
      };
      const figures = await compareInRounds(conditions, {
        small: (round) => load(smallTable(round.label), sizes.small, round),
        huge: (round) => load(huge, sizes.huge, round),
      });
      const yardstick = { name: `the same with ${countText(sizes.small)} items`, figures: figures.small };
      rows.push({ name, unit: 'requests/s', ours: figures.huge, yardstick, goal });
    }
    return {
      rows,
      remarks: [
        `Each round has a small table of its own, which grows under the creates; the huge one takes the creates of ` +
          'all rounds. Both are in one data folder.',
      ],
    };
  },
};

/** One table for each round, so that the creates of many rounds do not make it large. */
function smallTables(conditions: Conditions): Record<string, number> {
  const { small } = conditions.sizes;
  return Object.fromEntries(roundLabels(conditions).map((label) => [smallTable(label), small]));
}

function smallTable(roundLabel: string): string {
  return `small-${roundLabel}`;
}

async function readsById(table: string, count: number): Promise<boolean> {
  const { status } = await fetch(`${table}/read?id=${anyId(count)}`);
  return status === 200;
}

import { join } from 'node:path';
import { batchItems, runTables, scattered, sendBatches, writeItems } from '../bulk.ts';
import type { Case, Conditions, Goal, Row, Unit } from '../case.ts';
import { requireDisk } from '../disk.ts';
import type { Environment } from '../environment.ts';
import { countText } from '../measure.ts';
import { uncompressed } from '../reading.ts';
import { cpuUs, processesOfAll } from '../resources.ts';
import { type Server, startService } from '../servers.ts';

const connections = 16;
const importGoal: Goal = { of: 'figure', side: 'least', bound: 100_000 };
const batchGoal: Goal = { of: 'figure', side: 'least', bound: 40_000 };
const exportGoal: Goal = { of: 'ratio', side: 'least', bound: 0.5 };
const memoryGoal: Goal = { of: 'difference', side: 'most', bound: 64 };
const reported: Goal = { of: 'figure', side: 'most' };
const orders = ['sorted', 'unsorted'] as const;

/** Figures by the name of their row, one for each round. */
type Figures = Map<string, number[]>;

/** Many items at once: files into a table and out of it beside the running service, and batches over HTTP. */
export const bulk: Case = {
  name: 'bulk',
  summary: 'imports, exports, and writes and deletes in batches',

  async measure(environment, conditions) {
    requireDisk(environment.folder);
    const { large } = conditions.sizes;
    const files = {
      sorted: join(environment.folder, 'sorted.jsonl'),
      unsorted: join(environment.folder, 'un.jsonl'),
    };
    await writeItems(files.sorted, large, (index) => index);
    await writeItems(files.unsorted, large, scattered(large));
    const small = join(environment.folder, 'small.jsonl');
    await writeItems(small, large / 10, scattered(large / 10));
    const figures: Figures = new Map();
    for (let round = 1; round <= conditions.rounds; round++) {
      const data = join(environment.folder, `data-${round}`);
      const service = await startService(environment, conditions, data);
      const tenth = await runTables(environment, data, ['import', 'small', small]);
      note(figures, 'import of a tenth', tenth.megabytes);
      for (const order of orders) {
        const cost = await runTables(environment, data, ['import', order, files[order]]);
        note(figures, `import, ${order}`, large / cost.seconds);
        note(figures, `import, ${order}: CPU`, cost.cpuUs / large);
        note(figures, `import, ${order}: memory`, cost.megabytes);
      }
      await measureExport(environment, { service, data, figures, items: large });
      await measureBatches(service, figures, large / 2);
      await environment.stop(service.program);
      conditions.log(`  round-${round}: ${textOf(figures)}`);
    }
    return { rows: rowsOf(figures, conditions), remarks: remarksOf(conditions) };
  },
};

interface Exported {
  readonly service: Server;
  readonly data: string;
  readonly figures: Figures;
  readonly items: number;
}

async function measureExport(environment: Environment, exported: Exported): Promise<void> {
  const { service, data, figures, items } = exported;
  const began = performance.now();
  const response = await fetch(`${service.origin}/v3/table/sorted/read`, { headers: uncompressed });
  for await (const _ of response.body ?? []);
  note(figures, 'whole read', items / ((performance.now() - began) / 1_000));
  const file = join(environment.folder, 'exported.jsonl');
  const start = await runTables(environment, data, ['list']);
  const { seconds } = await runTables(environment, data, ['export', 'sorted', file, '--force']);
  note(figures, 'export', items / (seconds - start.seconds));
}

/** Creates and deletes in ascending and in scattered order. */
async function measureBatches({ origin, program }: Server, figures: Figures, items: number): Promise<void> {
  const numbers = { sorted: (index: number) => index, unsorted: scattered(items) };
  for (const order of orders) {
    const load = {
      url: `${origin}/v3/table/${order}-batches/batch`,
      items,
      connections,
      numberAt: numbers[order],
    };
    for (const [name, write] of [
      ['creates', (create: object) => ({ create })],
      ['deletes', ({ id }: { readonly id: string }) => ({ delete: { id } })],
    ] as const) {
      const processes = processesOfAll([program]);
      const before = cpuUs(processes);
      const seconds = await sendBatches({ ...load, write });
      note(figures, `batches, ${order} ${name}`, items / seconds);
      note(figures, `batches, ${order} ${name}: CPU`, (cpuUs(processes) - before) / items);
    }
  }
}

function note(figures: Figures, name: string, figure: number): void {
  const known = figures.get(name);
  if (known === undefined) figures.set(name, [figure]);
  else known.push(figure);
}

function rowsOf(figures: Figures, { sizes }: Conditions): Row[] {
  const of = (name: string) => figures.get(name) ?? [];
  const row = (name: string, unit: Unit, goal: Goal): Row => ({ name, unit, ours: of(name), goal });
  const imports = orders.flatMap((order): Row[] => [
    row(`import, ${order}`, 'items/s', importGoal),
    row(`import, ${order}: CPU`, 'µs', reported),
    {
      ...row(`import, ${order}: memory`, 'MB', memoryGoal),
      yardstick: { name: `import of ${countText(sizes.large / 10)}`, figures: of('import of a tenth') },
    } as Row,
  ]);
  const exported = {
    ...row('export', 'items/s', exportGoal),
    yardstick: { name: 'the whole read over HTTP', figures: of('whole read') },
  } as Row;
  const batches = [...figures.keys()]
    .filter((name) => name.startsWith('batches'))
    .map((name) => (name.endsWith('CPU') ? row(name, 'µs', reported) : row(name, 'items/s', batchGoal)));
  return [...imports, exported, ...batches];
}

function remarksOf({ sizes }: Conditions): string[] {
  return [
    `The files have ${countText(sizes.large)} items of about 80 bytes as JSON; a command runs beside the idle service on the same ` +
      `data, and its start counts. Batches have ${batchItems} items and come over ${connections} connections. Their CPU time is ` +
      'that of the service per item, which other work on the machine changes less than the rate; that of an import is its own.',
  ];
}

function textOf(figures: Figures): string {
  return [...figures].map(([name, each]) => `${name} ${Math.round(each.at(-1) ?? 0)}`).join(', ');
}

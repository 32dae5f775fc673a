import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backUp, restore, untilBackedUp } from '../backups.ts';
import type { Case, Conditions, Goal, Row } from '../case.ts';
import { requireDisk } from '../disk.ts';
import type { Environment } from '../environment.ts';
import { fillTables } from '../fixtures.ts';
import { takeStream } from '../items.ts';
import { compareInRounds, countText, type Round } from '../measure.ts';
import { type Server, startService } from '../servers.ts';
import { itemBody, putUnderLoad } from '../wrk.ts';

const backupGoal: Goal = { of: 'figure', side: 'most', bound: 2_000 };
const restoreGoal: Goal = { of: 'figure', side: 'most', bound: 60_000 };
const rateGoal: Goal = { of: 'ratio', side: 'least', bound: 0.9 };
const latencyGoal: Goal = { of: 'ratio', side: 'most', bound: 1.1 };
const continuousGoal: Goal = { of: 'ratio', side: 'least', bound: 0.95 };
const continuousSeconds = 5;
/** By then the backup has read its settings and takes its snapshot. */
const backupStartMs = 400;

/** How long backups and restores take, and what they cost the creates that are made meanwhile. */
export const backup: Case = {
  name: 'backup',
  summary: 'makes backups of a large table and restores them, and creates items meanwhile',

  async measure(environment, conditions) {
    requireDisk(environment.folder);
    const { large } = conditions.sizes;
    const plain = join(environment.folder, 'plain');
    const sent = join(environment.folder, 'sent');
    for (const data of [plain, sent]) await fillTables(environment, data, { items: large }, conditions.log);
    const backups = await timeBackups(environment, conditions, plain);
    const target = join(environment.folder, 'continuous');
    const settings = {
      COUNTERFOIL_BACKUP_TARGET: target,
      COUNTERFOIL_BACKUP_CONTINUOUS: String(continuousSeconds),
    };
    const services = {
      plain: await startService(environment, conditions, plain),
      sent: await startService(environment, conditions, sent, settings),
    };
    await untilBackedUp(environment, { data: sent, target });
    const creates = await measureCreates(environment, conditions, { ...services, data: plain });
    await environment.stop(services.plain.program);
    const restores = await timeRestores(environment, conditions, {
      service: services.sent,
      data: sent,
      target,
    });
    return { rows: rowsOf(large, { backups, restores, ...creates }), remarks };
  },
};

const remarks = [
  'The creates beside a backup keep both cores busy, as those without it do, and a backup has the ' +
    'lowest priority. A backup and a restore are whole commands: their start counts, and the check of the copy.',
];

interface Figures {
  readonly backups: readonly number[];
  readonly restores: readonly number[];
  readonly rates: Readonly<Record<Side, readonly number[]>>;
  readonly latencies: Readonly<Record<Side, readonly number[]>>;
}

type Side = 'alone' | 'beside a backup' | 'with continuous backup';

async function timeBackups(
  environment: Environment,
  { rounds, log }: Conditions,
  data: string,
): Promise<number[]> {
  const figures: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const target = join(environment.folder, `backup-${round}`);
    figures.push(await backUp(environment, { data, target }));
    log(`  round-${round}: a backup took ${Math.round(figures.at(-1) ?? 0)} ms`);
  }
  return figures;
}

interface Scene {
  readonly plain: Server;
  readonly sent: Server;
  readonly data: string;
}

async function measureCreates(
  environment: Environment,
  conditions: Conditions,
  { plain, sent, data }: Scene,
): Promise<Pick<Figures, 'rates' | 'latencies'>> {
  const latencies: Record<Side, number[]> = {
    alone: [],
    'beside a backup': [],
    'with continuous backup': [],
  };
  const createOn = async (side: Side, { origin }: Server, { seconds, number }: Round) => {
    const outcome = await putUnderLoad(environment, {
      url: `${origin}/v3/table/created/create`,
      seconds,
      requests: { method: 'POST', body: itemBody, items: { kind: 'new', stream: takeStream() } },
    });
    if (number > 0) latencies[side].push(outcome.p99Ms);
    return outcome.requestsPerSecond;
  };
  const rates = await compareInRounds<Side>(conditions, {
    alone: (round) => createOn('alone', plain, round),
    'beside a backup': async (round) => {
      const target = join(environment.folder, `beside-${round.label}`);
      const made = backUp(environment, { data, target });
      await sleep(backupStartMs);
      const rate = await createOn('beside a backup', plain, round);
      await made;
      return rate;
    },
    'with continuous backup': (round) => createOn('with continuous backup', sent, round),
  });
  return { rates, latencies };
}

/** From a backup and as many commits after it, in segments, as it has items. */
async function timeRestores(
  environment: Environment,
  { sizes, rounds, log }: Conditions,
  { service, data, target }: { readonly service: Server; readonly data: string; readonly target: string },
): Promise<number[]> {
  await fillTables(environment, data, { after: sizes.large }, log, 'single');
  // A service that is stopped sends the rest.
  await environment.stop(service.program);
  const figures: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    figures.push(await restore(environment, { target, data: join(environment.folder, `restored-${round}`) }));
    log(`  round-${round}: a restore took ${Math.round(figures.at(-1) ?? 0)} ms`);
  }
  return figures;
}

function rowsOf(items: number, { backups, restores, rates, latencies }: Figures): Row[] {
  const rate = (side: Side, goal: Goal): Row => ({
    name: `create ${side}`,
    unit: 'requests/s',
    ours: rates[side],
    yardstick: { name: 'alone', figures: rates.alone },
    goal,
  });
  return [
    { name: `backup of ${countText(items)} items`, unit: 'ms', ours: backups, goal: backupGoal },
    rate('beside a backup', rateGoal),
    {
      name: 'create beside a backup, p99',
      unit: 'ms',
      ours: latencies['beside a backup'],
      yardstick: { name: 'alone', figures: latencies.alone },
      goal: latencyGoal,
    },
    rate('with continuous backup', continuousGoal),
    {
      name: `restore of ${countText(items)} items and ${countText(items)} commits`,
      unit: 'ms',
      ours: restores,
      goal: restoreGoal,
    },
  ];
}

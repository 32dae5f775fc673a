import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Case } from '../case.ts';
import { flushRemark, requireDisk } from '../disk.ts';
import { countText, shortNumber } from '../measure.ts';
import { firstLineOf } from '../rivals/compare.ts';
import type { Contender } from '../rivals/contender.ts';
import { counterfoil } from '../rivals/counterfoil.ts';
import { etcdGateway } from '../rivals/etcd-gateway.ts';
import { type Footprint, footprintOf, megabytesOnDisk } from '../rivals/footprint.ts';
import { jsonServer } from '../rivals/json-server.ts';
import { nodeHttp } from '../rivals/node-http.ts';
import { rivalsPage } from '../rivals/page.ts';
import { pocketbase } from '../rivals/pocketbase.ts';
import { type Folders, measureLarge, measureRequests, type Scene } from '../rivals/requests.ts';
import { webdis } from '../rivals/webdis.ts';

/** The first is ours. */
const contenders: readonly Contender[] = [counterfoil, pocketbase, jsonServer, webdis, etcdGateway, nodeHttp];

/** The same requests to other servers with the same items, as one table. */
export const rivals: Case = {
  name: 'rivals',
  summary:
    'sends the same requests to PocketBase, json-server, webdis, etcd and bare node:http; only by name',
  isAlone: true,

  async measure(environment, conditions) {
    if (!existsSync('/proc/self/smaps_rollup')) throw new Error('needs /proc, as Linux has it');
    requireDisk(environment.folder);
    const flush = flushRemark(environment.folder);
    const { sizes } = conditions;
    const present: Contender[] = [];
    const absent = new Map<string, string>();
    for (const contender of contenders) {
      const reason = await contender.prepare(environment);
      if (reason === undefined) present.push(contender);
      else absent.set(contender.name, reason);
    }
    const scene: Scene = { environment, conditions, present };
    const medium = await fillAll(scene, sizes.medium);
    const footprints = await measureFootprints(scene, medium.folders);
    const rates = await measureRequests(scene, medium.folders);
    const large = await fillAll(scene, sizes.large);
    const largest = await measureLarge(scene, large.folders);
    const disk = { medium: medium.megabytes, large: large.megabytes };
    const page = rivalsPage({ contenders, absent, rates, largest, footprints, disk, flush, conditions });
    return { rows: [], remarks: [], page };
  },
};

interface FilledFolders {
  readonly folders: Folders;
  /** Of those that store something. */
  readonly megabytes: ReadonlyMap<string, number>;
}

async function fillAll({ environment, conditions, present }: Scene, items: number): Promise<FilledFolders> {
  const folders = new Map<string, string>();
  const megabytes = new Map<string, number>();
  for (const [index, { name, fill, stores }] of present.entries()) {
    const folder = join(environment.folder, `contender-${index}-${items}`);
    const began = performance.now();
    try {
      await fill(environment, folder, { items });
    } catch (error) {
      conditions.log(`  ${name} could not be filled with ${countText(items)} items: ${firstLineOf(error)}`);
      continue;
    }
    const seconds = (performance.now() - began) / 1_000;
    folders.set(name, folder);
    if (stores) megabytes.set(name, megabytesOnDisk(folder));
    conditions.log(`  filled ${name} with ${countText(items)} items in ${seconds.toFixed(1)} s`);
  }
  return { folders, megabytes };
}

/** Of those that were filled, until one fails. */
async function measureFootprints(
  { environment, conditions, present }: Scene,
  folders: Folders,
): Promise<ReadonlyMap<string, readonly Footprint[]>> {
  const found = new Map<string, Footprint[]>([...folders.keys()].map((name) => [name, []]));
  conditions.log('  start in ms, resident memory idle and at its peak in MB');
  // The first round, which fills the caches of the system, is not counted.
  for (let round = 0; round <= conditions.rounds; round++) {
    const texts: string[] = [];
    for (const contender of present.filter(({ name }) => found.has(name))) {
      const { name } = contender;
      try {
        const folder = folders.get(name) as string;
        const footprint = await footprintOf(environment, conditions, contender, folder);
        if (round > 0) found.get(name)?.push(footprint);
        const figures = [footprint.startMs, footprint.idle.resident, footprint.peak.resident];
        texts.push(`${name} ${figures.map(shortNumber).join(' ')}`);
      } catch (error) {
        found.delete(name);
        texts.push(`${name} failed: ${firstLineOf(error)}`);
      }
    }
    conditions.log(`  ${round === 0 ? 'warm-up' : `round-${round}`}: ${texts.join(', ')}`);
  }
  return found;
}

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of processes that share the machine with their load: each is held to a part of a core, as if on a machine of its own. */
const periodUs = 100_000;
const folder = '/sys/fs/cgroup';
const isSecond = existsSync(join(folder, 'cgroup.controllers'));
const groups = isSecond ? folder : join(folder, 'cpu');

/** Why no process can be held, or undefined. */
export function whyNotHeld(): string | undefined {
  try {
    rmdirSync(makeGroup('probe', 1));
    return undefined;
  } catch {
    return 'needs root, and control groups that can be written';
  }
}

/**
 * Holds each of the processes to so much of a core. Until they have ended.
 *
 * @returns called when they have, takes the groups away
 */
export function holdEach(pids: readonly number[], cores: number): () => void {
  const made = pids.map((pid) => {
    const group = makeGroup(String(pid), cores);
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
    return group;
  });
  return () => {
    for (const group of made) rmdirSync(group);
  };
}

function makeGroup(name: string, cores: number): string {
  const group = join(groups, `counterfoil-bench-${name}`);
  mkdirSync(group);
  const quotaUs = Math.round(cores * periodUs);
  if (isSecond) {
    writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${periodUs}`);
  } else {
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodUs));
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quotaUs));
  }
  return group;
}

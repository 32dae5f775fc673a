import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Limits processes that share the machine with their load to a part of a core each, as if each had its own machine. */
const periodUs = 100_000;
const folder = '/sys/fs/cgroup';
const isSecond = existsSync(join(folder, 'cgroup.controllers'));
const groups = isSecond ? folder : join(folder, 'cpu');

/** Returns why processes cannot be limited, or undefined if they can. */
export function whyNotHeld(): string | undefined {
  try {
    rmdirSync(makeGroup('probe', 1));
    return undefined;
  } catch {
    return 'needs root, and control groups that can be written';
  }
}

/**
 * Limits each of the processes to a part of a core.
 *
 * @returns removes the control groups; to be called after the processes have ended
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

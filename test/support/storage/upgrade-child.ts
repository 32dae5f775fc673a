import { upgradeStore } from '../../../src/storage/lmdb/upgrade.ts';

/** Upgrades the store of a file, and kills itself after a number of steps. */
const [file, steps] = process.argv.slice(2) as [string, string];
let left = Number(steps);
upgradeStore(file, () => {
  if (left-- === 0) process.kill(process.pid, 'SIGKILL');
});

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { open } from 'lmdb';
import { storeFile } from '../../../src/storage/lmdb/open.ts';

/** Has a store open as an older service would, and prints what another process says that upgrades it. */
const [folder] = process.argv.slice(2) as [string];
const root = open<string, string>({
  path: storeFile(folder),
  overlappingSync: false,
  maxDbs: 4,
  encoding: 'string',
});
if (root.get('counterfoil') === undefined) throw new Error('there is no store');
const child = join(import.meta.dirname, 'upgrade-child.ts');
process.stdout.write(
  spawnSync(process.execPath, [child, storeFile(folder), '100'], { encoding: 'utf8' }).stderr,
);

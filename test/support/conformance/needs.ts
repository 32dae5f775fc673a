import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Programs, and the Debian packages that contain them. */
const packages = {
  nbdkit: 'nbdkit',
  nbdfuse: 'libnbd-bin',
  fusermount3: 'fuse3',
  'mkfs.ext4': 'e2fsprogs',
  losetup: 'util-linux',
  mount: 'mount',
  strace: 'strace',
  nginx: 'nginx-light',
  haproxy: 'haproxy',
  caddy: 'caddy',
  cc: 'gcc',
  slowhttptest: 'slowhttptest',
} as const;
export type Program = keyof typeof packages;

/** Throws an error that lists everything missing, unless this is root on a machine with these programs. */
export function needRootAnd(...programs: readonly Program[]): void {
  requireNone([...(process.getuid?.() === 0 ? [] : ['to run as root']), ...missing(programs)]);
}

/** Throws an error that lists everything missing, unless this is a machine with these programs. */
export function need(...programs: readonly Program[]): void {
  requireNone(missing(programs));
}

function missing(programs: readonly Program[]): string[] {
  return programs
    .filter((program) => !isInstalled(program))
    .map((program) => `${program} (Debian package ${packages[program]})`);
}

function requireNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(`this needs ${problems.join(', ')}`);
}

function isInstalled(program: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import { ServeProcess } from '../serve-process.ts';

/** A disk in memory with a given size. */
export class SmallDisk {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static mount(t: TestContext, megabytes: number): SmallDisk {
    const folder = mkdtempSync(join(tmpdir(), 'counterfoil-small-'));
    run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder);
    unmountAfter(t, folder, () => rmSync(folder, { recursive: true, force: true }));
    return new SmallDisk(folder);
  }

  resize(megabytes: number): void {
    run('mount', '-o', `remount,size=${megabytes}m`, this.folder);
  }

  turnReadOnly(): void {
    run('mount', '-o', 'remount,ro', this.folder);
  }
}

/**
 * A disk whose file system becomes read-only at the first error, as is common, and to which an error can be reported.
 */
export class FaultyDisk {
  readonly #state: string;
  readonly folder: string;

  private constructor(state: string) {
    this.#state = state;
    this.folder = join(state, 'mnt');
  }

  static mount(t: TestContext, megabytes: number): FaultyDisk {
    const disk = new FaultyDisk(mkdtempSync(join(tmpdir(), 'counterfoil-faulty-')));
    run('truncate', '-s', `${megabytes}M`, disk.#image);
    run('mkfs.ext4', '-q', '-F', disk.#image);
    mkdirSync(disk.folder);
    unmountAfter(t, disk.folder, () => rmSync(disk.#state, { recursive: true, force: true }));
    disk.mountAgain();
    return disk;
  }

  get #image(): string {
    return join(this.#state, 'disk.img');
  }

  /** Reports an error to the file system, which from then on writes nothing. */
  turnReadOnly(): void {
    const [loop = ''] = run('losetup', '-j', this.#image).split(':');
    writeFileSync(`/sys/fs/ext4/${basename(loop)}/trigger_fs_error`, 'a fault for a test\n');
  }

  /** Checks the disk and mounts it again, as an operator does after a fault. No process may have a file of it open. */
  repair(): void {
    run('umount', this.folder);
    run('e2fsck', '-p', '-f', this.#image);
    this.mountAgain();
  }

  mountAgain(): void {
    run('mount', '-o', 'loop,errors=remount-ro', this.#image, this.folder);
  }
}

function unmountAfter(t: TestContext, folder: string, remove: () => void): void {
  t.after(async () => {
    await ServeProcess.killAll();
    try {
      run('umount', folder);
    } catch {
      // It was not mounted, or a process still uses it: a lazy unmount waits for that.
      run('sh', '-c', `umount -l '${folder}' 2>/dev/null || true`);
    }
    remove();
  });
}

/** Runs a program. e2fsck exits with 1 when it has repaired something. */
function run(program: string, ...args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    if (program === 'e2fsck' && (error as { status?: number }).status === 1) return '';
    throw error;
  }
}

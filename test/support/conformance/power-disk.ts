import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { ServeProcess } from '../serve-process.ts';

const script = join(import.meta.dirname, '../../../scripts/power-cut.sh');

const run = promisify(execFile);

/** A disk whose power can be cut (scripts/power-cut.sh). */
export class PowerDisk {
  readonly #state: string;
  /** The folder for data while the power is on. */
  readonly folder: string;
  #isRemoved = false;

  private constructor(state: string) {
    this.#state = state;
    this.folder = execFileSync('bash', [script, 'on', state], { encoding: 'utf8' }).trim();
  }

  /** A new disk with its power on; removed after the test at the latest. */
  static plugIn(t: TestContext): PowerDisk {
    const disk = new PowerDisk(mkdtempSync(join(tmpdir(), 'counterfoil-disk-')));
    t.after(async () => {
      await ServeProcess.killAll();
      await disk.remove();
    });
    return disk;
  }

  /** Cuts the power, and kills these processes: unflushed writes are lost. */
  async cut(pids: readonly number[]): Promise<void> {
    await run('bash', [script, 'cut', this.#state, ...pids.map(String)]);
  }

  /** From now on no flush completes: a process that waits for one waits until the power is cut. */
  freeze(): void {
    process.kill(this.#pid, 'SIGSTOP');
  }

  /** The disk fails, and so does every access to it from now on; the processes that use it continue. */
  fail(): void {
    process.kill(this.#pid, 'SIGKILL');
  }

  get #pid(): number {
    return Number(readFileSync(join(this.#state, 'nbdkit.pid'), 'utf8'));
  }

  async restore(): Promise<void> {
    await run('bash', [script, 'on', this.#state]);
  }

  async remove(): Promise<void> {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    await this.cut([]);
    rmSync(this.#state, { recursive: true, force: true });
  }
}

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
  /** Where data is put while the power is on. */
  readonly folder: string;
  #isScrapped = false;

  private constructor(state: string) {
    this.#state = state;
    this.folder = execFileSync('bash', [script, 'on', state], { encoding: 'utf8' }).trim();
  }

  /** A new disk with its power on; scrapped after the test, if it has not been before. */
  static plugIn(t: TestContext): PowerDisk {
    const disk = new PowerDisk(mkdtempSync(join(tmpdir(), 'counterfoil-disk-')));
    t.after(async () => {
      await ServeProcess.killAll();
      await disk.scrap();
    });
    return disk;
  }

  /** The power fails, and with it these processes: what was not flushed is lost. */
  async cut(pids: readonly number[]): Promise<void> {
    await run('bash', [script, 'cut', this.#state, ...pids.map(String)]);
  }

  /** From now on nothing is flushed, and nobody is told: who waits for a flush waits until the power is cut. */
  freeze(): void {
    process.kill(this.#pid, 'SIGSTOP');
  }

  /** The disk alone fails, and all that is asked of it from now on; whoever uses it goes on. */
  fail(): void {
    process.kill(this.#pid, 'SIGKILL');
  }

  get #pid(): number {
    return Number(readFileSync(join(this.#state, 'nbdkit.pid'), 'utf8'));
  }

  async restore(): Promise<void> {
    await run('bash', [script, 'on', this.#state]);
  }

  async scrap(): Promise<void> {
    if (this.#isScrapped) return;
    this.#isScrapped = true;
    await this.cut([]);
    rmSync(this.#state, { recursive: true, force: true });
  }
}

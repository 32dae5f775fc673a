import { closeSync, openSync, writeSync } from 'node:fs';
import { jsonLine } from '../output/print.ts';
import { WorkFailed } from '../problems.ts';
import type { Row } from './row.ts';

/** The file of `--skipped`: the line and id of every skipped item, as JSON Lines. */
export class SkipReport {
  readonly #file: number | undefined;

  /** Throws WorkFailed when the file cannot be written. @param file undefined for no report */
  constructor(file: string | undefined) {
    try {
      this.#file = file === undefined ? undefined : openSync(file, 'w');
    } catch (error) {
      throw new WorkFailed(
        'file_not_written',
        `${file} cannot be written (${(error as NodeJS.ErrnoException).code})`,
      );
    }
  }

  add(rows: readonly Row[]): void {
    if (this.#file === undefined || rows.length === 0) return;
    writeSync(this.#file, rows.map(({ line, item }) => jsonLine({ line, id: item.id })).join(''));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

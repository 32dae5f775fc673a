import { closeSync, openSync, writeFileSync } from 'node:fs';
import { jsonLine } from '../output/print.ts';
import { WorkFailed } from '../problems.ts';
import type { Row } from './row.ts';

/** The file of `--skipped`: the line and id of every skipped item, as JSON Lines. */
export class SkipReport {
  readonly #path: string | undefined;
  readonly #file: number | undefined;

  /** Throws WorkFailed, as `add` does, when the file cannot be written. @param path undefined for no report */
  constructor(path: string | undefined) {
    this.#path = path;
    this.#file = path === undefined ? undefined : this.#written(() => openSync(path, 'w'));
  }

  add(rows: readonly Row[]): void {
    const file = this.#file;
    if (file === undefined || rows.length === 0) return;
    const text = rows.map(({ line, item }) => jsonLine({ line, id: item.id })).join('');
    this.#written(() => writeFileSync(file, text));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  #written<Result>(write: () => Result): Result {
    try {
      return write();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new WorkFailed('file_not_written', `${this.#path} cannot be written (${code})`);
    }
  }
}

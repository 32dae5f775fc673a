import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { SettingsError } from '../../errors.ts';
import type { LedgerEntry } from './ledger.ts';
import { MemoryLedger } from './memory-ledger.ts';

/** Read from the file in one turn of the event loop: some 1,000 charges, which take some milliseconds. */
export const ledgerChunkBytes = 256 * 1024;

/**
 * The ledger in a file, one entry a line, for any number of processes. A process appends the entry of a request, then reads
 * all that was appended since it last read, its own entry included, and replies from that. The system appends one entry
 * after the other (`O_APPEND`, on a local file system), so that all processes apply the same entries in the same order, and
 * no process reads a line twice.
 *
 * A process replies after the write, so a charge that it has reported survives its end. The file is not flushed: a power cut
 * can lose the entries of the last seconds, which is enough for a processor that moves no money.
 *
 * Each call rejects if the file cannot be read or written, or has become shorter than it was.
 */
export class FileLedger extends MemoryLedger {
  readonly #file: string;
  /** The end of the last line that was applied, in bytes. */
  #readTo = 0;

  private constructor(file: string) {
    super();
    this.#file = file;
  }

  /** Creates the file and its folder if they are missing. Throws SettingsError if that fails. */
  static open(file: string): FileLedger {
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      closeSync(openSync(file, 'a', 0o600));
      // Several processes may write an id at once: the first entry counts.
      if (statSync(file).size === 0) append(file, entryLine({ kind: 'ledger', id: newLedgerId() }));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new SettingsError([
        `data (COUNTERFOIL_DATA): --simulate keeps its ledger in ${file}, which cannot be written (${code})`,
      ]);
    }
    return new FileLedger(file);
  }

  protected override async record(entry: LedgerEntry): Promise<void> {
    append(this.#file, entryLine(entry));
    await this.refresh();
  }

  protected override async refresh(): Promise<void> {
    // Requests run between the chunks; each chunk is read and applied in one turn.
    while (this.#applyChunk()) await turn();
  }

  /** Applies the next whole lines. @returns whether there may be more */
  #applyChunk(): boolean {
    const { size } = statSync(this.#file);
    if (size < this.#readTo) throw new Error('the file of the simulated ledger has become shorter');
    if (size === this.#readTo) return false;
    const bytes = read(this.#file, this.#readTo, Math.min(size - this.#readTo, ledgerChunkBytes));
    const end = bytes.lastIndexOf('\n') + 1;
    for (const line of bytes.toString('utf8', 0, end).split('\n')) {
      const entry = parsed(line);
      if (entry !== undefined) this.apply(entry);
    }
    // Without a line break, a full chunk is damage: no entry is that long.
    const applied = end === 0 && bytes.length === ledgerChunkBytes ? bytes.length : end;
    this.#readTo += applied;
    return applied > 0 && this.#readTo < size;
  }
}

/** Undefined for a line that is no entry: a killed process left a part of it, or a power cut damaged it. */
function parsed(line: string): LedgerEntry | undefined {
  try {
    return line.startsWith('{') ? (JSON.parse(line) as LedgerEntry) : undefined;
  } catch {
    return undefined;
  }
}

/** The first line break ends the part of a line that a killed process may have left. */
function entryLine(entry: LedgerEntry): string {
  return `\n${JSON.stringify(entry)}\n`;
}

/** Another file is another account: its records prove nothing about payments of this one. */
function newLedgerId(): string {
  return `simulated_${randomBytes(8).toString('hex')}`;
}

function append(file: string, text: string): void {
  const bytes = Buffer.from(text);
  const descriptor = openSync(file, 'a');
  try {
    // A second write would not be adjacent if another process appends in between.
    if (writeSync(descriptor, bytes) !== bytes.length) throw new Error('an entry was written in part only');
  } finally {
    closeSync(descriptor);
  }
}

function read(file: string, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  const descriptor = openSync(file, 'r');
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, from));
  } finally {
    closeSync(descriptor);
  }
}

import { closeSync, fstatSync, openSync } from 'node:fs';
import { readHead } from '../file/pages.ts';
import { restPerWork, throttledGrowthBytesMax } from './limits.ts';

/**
 * Leaves the machine to those who write to the store: the lowest priority alone does not, because a backup then still takes every
 * moment in which they wait for the disk. While nobody writes, a backup works without rests. So it does once the file has grown by much,
 * because the snapshot of a copy keeps the pages that are rewritten meanwhile from being used again.
 */
export class Throttle {
  readonly #file: number;
  readonly #bytes: number;
  #transaction: bigint | undefined;
  #workedMs = cpuMs();

  /** @param file of the store */
  constructor(file: string) {
    this.#file = openSync(file, 'r');
    this.#bytes = fstatSync(this.#file).size;
    this.#transaction = this.#lastTransaction();
  }

  /** Blocks this thread for a multiple of the CPU time that passed since the last call, if the store was written to meanwhile. */
  rest(): void {
    const transaction = this.#lastTransaction();
    const isInUse = transaction !== this.#transaction;
    const mayRest = fstatSync(this.#file).size - this.#bytes < throttledGrowthBytesMax;
    if (isInUse && mayRest) sleep((cpuMs() - this.#workedMs) * restPerWork);
    this.#transaction = transaction;
    this.#workedMs = cpuMs();
  }

  end(): void {
    closeSync(this.#file);
  }

  #lastTransaction(): bigint | undefined {
    return readHead(this.#file)?.transaction;
  }
}

/** CPU time of the process; a process that waits for its turn has not worked. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const never = new Int32Array(new SharedArrayBuffer(4));

function sleep(ms: number): void {
  Atomics.wait(never, 0, 0, ms);
}

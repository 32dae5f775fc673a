import { closeSync, fstatSync, openSync } from 'node:fs';
import { readHead } from '../file/pages.ts';
import { restPerWork, throttledGrowthBytesMax } from './limits.ts';

/**
 * Pauses a backup while other processes write to the store. The lowest CPU priority alone is not enough: the backup would still use
 * every moment in which the writers wait for the disk. The backup does not pause while nothing is written. It stops pausing when the
 * file has grown by `throttledGrowthBytesMax`, because its snapshot prevents the store from reusing old pages.
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

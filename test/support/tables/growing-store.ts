import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestService } from '../service.ts';
import { fill, items } from './filled-tables.ts';

const overwritten = '/v3/table/overwritten';
/** The rounds after which the file has all the space that overwriting needs. */
const firstRounds = 10;
const roundItems = 160;
/** More than the journal holds, so that each round moves older changes into the leaves and frees pages. */
const watchedItems = items(800, 10_000);

/**
 * Shows by the size of the store's file whether a snapshot is held: while one is, overwritten pages are not reused, and
 * the file grows with each round.
 */
export class GrowingStore {
  readonly #service: TestService;
  #round = 0;

  private constructor(service: TestService) {
    this.#service = service;
  }

  static async of(service: TestService): Promise<GrowingStore> {
    await fill(service, overwritten, watchedItems);
    const store = new GrowingStore(service);
    await store.growthIn(firstRounds);
    return store;
  }

  /** Overwrites a fifth of a table `rounds` times. @returns the growth of the file in bytes */
  async growthIn(rounds: number): Promise<number> {
    const before = fileBytes(this.#service);
    for (let left = rounds; left > 0; left--) {
      const first = (this.#round++ * roundItems) % watchedItems.length;
      await fill(this.#service, overwritten, watchedItems.slice(first, first + roundItems), 'update');
    }
    return fileBytes(this.#service) - before;
  }
}

export function fileBytes({ data }: TestService): number {
  return statSync(join(data, 'store.mdb')).size;
}

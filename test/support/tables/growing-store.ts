import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestService } from '../service.ts';
import { fill, items } from './filled-tables.ts';

const overwritten = '/v3/table/overwritten';
/** Rounds until the file has all the room that overwriting takes. */
const firstRounds = 10;
const roundItems = 80;
/** More than the journal keeps, so that each round brings older ones into the leaves, and frees pages. */
const watchedItems = items(400, 10_000);

/**
 * Tells by the size of the store's file whether a snapshot is held: while one is, nothing that is overwritten makes
 * room for what comes, and the file grows with each round.
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

  /** Overwrites a fifth of a table so many times. @returns by how many bytes the file has grown */
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

import type { Space } from '../engine.ts';
import type { Spaces } from './spaces.ts';

/** Tables with a verified key. Scanning a table with a sort key would return several items per id. */
export class VerifiedTables {
  readonly #spaces: Spaces;
  readonly #known = new Set<Space>();

  constructor(spaces: Spaces) {
    this.#spaces = spaces;
  }

  /** False when the table does not exist. Throws when its key is another one. */
  async has(space: Space): Promise<boolean> {
    if (this.#known.has(space)) return true;
    if (!(await this.#spaces.exists(space))) return false;
    this.#known.add(space);
    return true;
  }
}

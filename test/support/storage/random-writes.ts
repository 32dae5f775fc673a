import type { Space } from '../../../src/storage/engine.ts';
import { commitWritesMax } from '../../../src/storage/limits.ts';
import type { Write } from '../../../src/storage/lmdb/log/committer.ts';
import { between, pick, type Random, shuffled } from '../random.ts';
import { hardCharacters, idMaker } from './hard-ids.ts';
import { byIdBytes } from './simple-run.ts';
import type { SpaceModel } from './space-model.ts';

/** Lengths of values: for many items in a leaf, a few, about one, and for items of many pages. */
const lengths = {
  tiny: [0, 30],
  small: [80, 700],
  few: [1_000, 3_000],
  leaf: [3_900, 8_300],
  large: [20_000, 100_000],
} as const;

/** The random writes of one sequence, to a few spaces and with ids that repeat. */
export class RandomWrites {
  readonly spaces: readonly Space[];
  readonly ids: readonly string[];
  readonly #random: Random;
  readonly #model: SpaceModel;
  readonly #length: readonly [number, number];
  #values = 0;

  constructor(random: Random, model: SpaceModel) {
    this.#random = random;
    this.#model = model;
    const all: readonly Space[] = ['table:a', 'table:ab', 'service:payments'];
    this.spaces = all.slice(0, between(random, 1, 3));
    const { large, ...usual } = lengths;
    // Large values are slow, so only one sequence in ten has all of them large; the others have some.
    this.#length = random() < 0.1 ? large : pick(random, Object.values(usual));
    const makeId = idMaker(random);
    const ids = new Set(
      Array.from({ length: this.#length[1] < 10_000 ? between(random, 3, 300) : 8 }, makeId),
    );
    this.ids = [...ids].sort((a, b) => byIdBytes({ id: a }, { id: b }));
  }

  /** Commits of a few writes each, some of which are rejected. */
  few(): Write[][] {
    return Array.from({ length: between(this.#random, 1, 4) }, () => {
      const ids = shuffled(this.#random, this.ids).slice(0, between(this.#random, 1, 5));
      return ids.map((id) => this.#write(pick(this.#random, this.spaces), id));
    });
  }

  /** Creates or deletes, as far as possible, many items with neighboring ids, or with random ones. */
  many(): Write[][] {
    const space = pick(this.#random, this.spaces);
    const from = between(this.#random, 0, this.ids.length - 1);
    const ids = this.#random() < 0.7 ? this.ids.slice(from) : shuffled(this.#random, this.ids);
    const isDelete = this.#random() < 0.4;
    return ids
      .slice(0, between(this.#random, 1, Math.min(commitWritesMax, this.ids.length)))
      .filter((id) => (this.#model.get(space, id) !== undefined) === isDelete)
      .map((id) => [isDelete ? { kind: 'delete', space, id } : this.#create(space, id, true)]);
  }

  /** Deletes all items of a space, and perhaps removes it: in one batch, with a create behind it, or rejected. */
  removal(): Write[][] {
    const space = pick(this.#random, this.spaces);
    const left = this.#random() < 0.8 ? 0 : 1;
    const held = this.ids.filter((id) => this.#model.get(space, id) !== undefined);
    const deletes = held.slice(left).map((id): Write[] => [{ kind: 'delete', space, id }]);
    const again = this.#random() < 0.3 ? [[this.#create(space, pick(this.#random, this.ids), true)]] : [];
    return [...deletes, [{ kind: 'remove', space, id: '' }], ...again];
  }

  #write(space: Space, id: string): Write {
    const held = this.#model.get(space, id);
    const kind = pick(this.#random, ['create', 'replace', 'delete'] as const);
    if (this.#random() < 0.2) return { ...this.#create(space, id, this.#random() < 0.8), kind: 'put' };
    // Mostly writes that succeed, and some that are rejected.
    const isCreate = this.#random() < 0.9 ? held === undefined : kind === 'create';
    if (isCreate) return this.#create(space, id, this.#random() < 0.8);
    const base =
      kind === 'delete' ? { kind, space, id } : { kind: 'replace' as const, space, id, value: this.#value() };
    if (this.#random() < 0.5) return base;
    return { ...base, ifValue: this.#random() < 0.7 ? (held ?? '') : 'another' };
  }

  #create(space: Space, id: string, makeSpace: boolean) {
    return { kind: 'create' as const, space, id, value: this.#value(), makeSpace };
  }

  #value(): string {
    const isOther = this.#random() < 0.05;
    const [from, to] = isOther ? pick(this.#random, Object.values(lengths)) : this.#length;
    const filling = this.#random() < 0.1 ? pick(this.#random, hardCharacters) : 'v';
    return `${this.#values++}${filling.repeat(between(this.#random, from, to))}`;
  }
}

import type { Rejection, ScanOptions, Space } from '../../../src/storage/engine.ts';
import type { Item } from '../../../src/storage/item-text.ts';
import type { Write } from '../../../src/storage/lmdb/log/committer.ts';

interface ModelItem extends Item {
  readonly idBytes: Buffer;
  readonly text: string;
}

interface SpaceState {
  readonly items: Map<string, ModelItem>;
  /** Increases with every change of the space. */
  changes: number;
  /** The sorted items, cached until the next change. */
  inOrder: readonly ModelItem[] | undefined;
  text: Buffer | undefined;
}

/** A model of a store: implements the port's contract (src/storage/engine.ts) with maps. */
export class SpaceModel {
  readonly #spaces = new Map<Space, SpaceState>();
  /** All changes, so that a space that was removed and made again continues the count. */
  #changes = 0;

  commit(writes: readonly Write[]): Rejection | undefined {
    for (const [index, write] of writes.entries()) {
      const reason = this.#rejectionOf(write);
      if (reason !== undefined) return { write: index, reason };
    }
    for (const write of writes) this.#set(write);
    return undefined;
  }

  get(space: Space, id: string): string | undefined {
    return this.#spaces.get(space)?.items.get(id)?.name;
  }

  has(space: Space): boolean {
    return this.#spaces.has(space);
  }

  changesOf(space: Space): number {
    return this.#spaces.get(space)?.changes ?? 0;
  }

  items(space: Space, options: ScanOptions = {}): Item[] {
    return this.#scan(space, options).map(({ id, name }) => ({ id, name }));
  }

  /** @param options of the scan; without them, the text of the whole space, which is cached until the next change */
  text(space: Space, options?: ScanOptions): Buffer {
    const state = this.#spaces.get(space);
    if (state === undefined || options !== undefined) return joined(this.#scan(space, options));
    state.text ??= joined(this.#scan(space));
    return state.text;
  }

  count(space: Space): number {
    return this.#spaces.get(space)?.items.size ?? 0;
  }

  #scan(space: Space, { after, limit, prefix = '' }: ScanOptions = {}): readonly ModelItem[] {
    const state = this.#spaces.get(space);
    if (state === undefined) return [];
    state.inOrder ??= [...state.items.values()].sort((a, b) => a.idBytes.compare(b.idBytes));
    const afterBytes = Buffer.from(after ?? '');
    const prefixBytes = Buffer.from(prefix);
    return state.inOrder
      .filter(({ idBytes }) => idBytes.compare(afterBytes) > 0)
      .filter(({ idBytes }) => idBytes.subarray(0, prefixBytes.length).equals(prefixBytes))
      .slice(0, limit);
  }

  #set(write: Write): void {
    if (write.kind === 'check') return;
    const { space, id } = write;
    if (write.kind === 'remove') {
      this.#spaces.delete(space);
      return;
    }
    const state = this.#spaces.get(space) ?? {
      items: new Map(),
      changes: 0,
      inOrder: undefined,
      text: undefined,
    };
    this.#spaces.set(space, state);
    state.changes = ++this.#changes;
    state.inOrder = undefined;
    state.text = undefined;
    if (write.kind === 'delete') state.items.delete(id);
    else {
      const item = { id, name: write.value };
      state.items.set(id, { ...item, idBytes: Buffer.from(id), text: JSON.stringify(item) });
    }
  }

  #rejectionOf(write: Write): Rejection['reason'] | undefined {
    if (write.kind === 'remove') {
      if (!this.has(write.space)) return 'space_missing';
      return this.count(write.space) > 0 ? 'exists' : undefined;
    }
    const value = this.get(write.space, write.id);
    if (write.kind === 'create' && value !== undefined) return 'exists';
    if (write.kind === 'create' || write.kind === 'put') {
      return write.makeSpace || this.has(write.space) ? undefined : 'space_missing';
    }
    if (write.ifValue === null) return value === undefined ? undefined : 'exists';
    if (value === undefined) return 'missing';
    return write.ifValue === undefined || write.ifValue === value ? undefined : 'differs';
  }
}

function joined(items: readonly ModelItem[]): Buffer {
  return Buffer.from(items.map(({ text }) => text).join(','));
}

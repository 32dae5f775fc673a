import { FolderTarget } from '../../../src/backup/folder-target.ts';
import type { Engine, Space, Write } from '../../../src/storage/engine.ts';
import { itemsOf } from '../../../src/storage/item-text.ts';
import { type ArchiverOptions, JournalArchiver } from '../../../src/storage/lmdb/backup/journal-archiver.ts';
import { type RestoreOptions, restoreBackup } from '../../../src/storage/lmdb/backup/restore.ts';
import { openLmdbEngine, storeFile } from '../../../src/storage/lmdb/open.ts';
import { untilAtRest } from '../storage/rest.ts';

/** A store with continuous backup in this process, and writers whose state after each commit is known. */
export class ContinuousStore {
  readonly file: string;
  readonly target: FolderTarget;
  readonly engine: Engine;
  archiver: JournalArchiver;

  private constructor(data: string, target: FolderTarget, options: ArchiverOptions) {
    this.engine = openLmdbEngine(data);
    this.file = storeFile(data);
    this.target = target;
    this.archiver = new JournalArchiver(this.file, target, options);
  }

  /** Each round sends a heartbeat. @param folder of the target */
  static async open(
    data: string,
    options: ArchiverOptions = {},
    folder = `${data}-target`,
  ): Promise<ContinuousStore> {
    const target = new FolderTarget(folder);
    await target.prepare();
    const store = new ContinuousStore(data, target, { heartbeatMs: 0, ...options });
    store.archiver.lease.take();
    return store;
  }

  async create(id: string): Promise<void> {
    const write: Write = { kind: 'create', space: 'table:t', id, value: id.repeat(20), makeSpace: true };
    const failure = await this.engine.commit([write]);
    if (failure !== undefined) throw new Error(failure.reason);
  }

  /** Waits until compaction has moved everything into the leaves, at which it removes what nobody needs from the journal. */
  async compacted(): Promise<void> {
    await untilAtRest(this.file);
  }

  async close(): Promise<void> {
    await this.archiver.close();
    await this.engine.close();
  }
}

/** Restores into a new folder. @returns the items of a table by id, after the work on the engine */
export async function restoredItems(
  target: FolderTarget,
  folder: string,
  { space = 'table:t', ...wanted }: Partial<RestoreOptions> & { readonly space?: Space } = {},
): Promise<Map<string, string>> {
  let items = new Map<string, string>();
  const prepare = async (engine: Engine) => {
    items = await itemsIn(engine, space);
  };
  await restoreBackup(target, folder, { others: [], ...wanted, prepare });
  return items;
}

export async function itemsIn(engine: Engine, space: Space): Promise<Map<string, string>> {
  const items = new Map<string, string>();
  for await (const { id, name } of itemsOf((await engine.scan(space))?.chunks ?? [])) items.set(id, name);
  return items;
}

/** When a commit was sent and acknowledged, in milliseconds since 1970. */
interface Step {
  readonly sentAt: number;
  readonly acknowledgedAt: number;
}

/**
 * A writer of its own table: its n-th commit puts the item `last` to n, and creates, changes or deletes another item as n says.
 * So the table shows how many of its commits a store has, and what it must hold then.
 */
export class ModelWriter {
  readonly space: Space;
  readonly steps: Step[] = [];
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(engine: Engine, name: string) {
    this.space = `table:${name}`;
    this.#running = this.#run(engine);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** The table after its first n commits. */
  static stateAfter(n: number): Map<string, string> {
    const items = new Map<string, string>();
    for (let step = 1; step <= n; step++) {
      items.set('last', `${step}`);
      const { id, value } = changeOf(step);
      if (value === undefined) items.delete(id);
      else items.set(id, value);
    }
    return items;
  }

  async #run(engine: Engine): Promise<void> {
    for (let step = 1; !this.#isStopped; step++) {
      const sentAt = Date.now();
      await engine.commit(writesOf(this.space, step));
      this.steps.push({ sentAt, acknowledgedAt: Date.now() });
    }
  }
}

const idsOfModel = 50;

/** Each id is created, changed and deleted in turn. */
function changeOf(step: number): { readonly id: string; readonly value: string | undefined } {
  const round = Math.floor((step - 1) / idsOfModel) % 3;
  const id = `item-${(step - 1) % idsOfModel}`;
  return { id, value: round === 2 ? undefined : `${step} ${'é"\\'.repeat(step % 7)}` };
}

function writesOf(space: Space, step: number): Write[] {
  const put = (id: string, value: string): Write => ({ kind: 'put', space, id, value, makeSpace: true });
  const { id, value } = changeOf(step);
  return [put('last', `${step}`), value === undefined ? { kind: 'delete', space, id } : put(id, value)];
}

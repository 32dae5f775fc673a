import { closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { flush, putInPlace } from '../../../../durable-files.ts';
import { SettingsError } from '../../../../errors.ts';
import type { Engine, Space } from '../../../engine.ts';
import { commitWritesMax } from '../../../limits.ts';
import { openLmdbEngine, storeFile } from '../../open.ts';
import { notedCommit } from '../failure.ts';
import { rejectOtherFormat } from '../format.ts';
import { type RecoverableSpace, type RecoveredSpace, recoverableSpaces } from './recovered-spaces.ts';
import { type Salvaged, salvage } from './salvage.ts';

export interface Recovered {
  readonly spaces: readonly RecoveredSpace[];
  /** One sentence for each loss beside the lost items of `spaces`. */
  readonly problems: readonly string[];
  /** Whether everything was saved. */
  readonly isWhole: boolean;
}

interface RecoverOptions {
  /** Changes the new store before it is put in place. */
  readonly prepare: (engine: Engine, recovered: Recovered) => Promise<void>;
  /** Called with the number of items saved so far, and their total by the counts of the old store. */
  readonly progress?: (items: number, total: number) => void;
}

/** The draft is within the new folder, so that the last step is a rename. A killed run leaves it, and the next run removes it. */
const draftName = 'recovering';
/** Concurrent commits of a recovery: they share a flush. */
const commitsAtOnce = 64;

/**
 * Saves what can be read of a folder's store into a new store in an empty folder. The old store does not change, and LMDB does not
 * open it. Throws SettingsError if the old folder has no store or one of another format, or if the new folder is not empty.
 */
export async function recoverStore(
  from: string,
  to: string,
  { prepare, progress = () => undefined }: RecoverOptions,
): Promise<Recovered> {
  const old = storeFile(from);
  if (!existsSync(old)) throw new SettingsError([`${from}: there is no store at ${old}`]);
  checkIsEmpty(to);
  const draft = join(to, draftName);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  const descriptor = openSync(old, 'r');
  try {
    const salvaged = salvage(descriptor);
    if (salvaged.description !== undefined) rejectOtherFormat(old, salvaged.description);
    const engine = openLmdbEngine(draft);
    const copying = async () => {
      const spaces = await copyAll(engine, recoverableSpaces(salvaged), progress);
      const recovered = summarize(spaces, describeLosses(salvaged, notedCommit(old)));
      await prepare(engine, recovered);
      return recovered;
    };
    const recovered = await copying().finally(() => engine.close());
    flush(storeFile(draft));
    putInPlace(storeFile(draft), storeFile(to));
    return recovered;
  } finally {
    closeSync(descriptor);
    rmSync(draft, { recursive: true, force: true });
  }
}

async function copyAll(
  engine: Engine,
  spaces: readonly RecoverableSpace[],
  progress: (items: number, total: number) => void,
): Promise<RecoveredSpace[]> {
  const total = spaces.reduce((sum, { expected = 0 }) => sum + expected, 0);
  const copied: RecoveredSpace[] = [];
  let saved = 0;
  for (const each of spaces) {
    const items = await copy(engine, each, (added) => {
      saved += added;
      progress(saved, total);
    });
    copied.push({ space: each.space, items, expected: each.expected, lost: each.lost });
  }
  return copied;
}

function summarize(spaces: readonly RecoveredSpace[], problems: readonly string[]): Recovered {
  const isWhole = problems.length === 0 && spaces.every(({ items, expected }) => items === expected);
  return { spaces, problems, isWhole };
}

/** @returns the number of the space's items in the new store */
async function copy(engine: Engine, from: RecoverableSpace, added: (items: number) => void): Promise<number> {
  const { space } = from;
  await createEmpty(engine, space);
  let writes: { kind: 'put'; space: Space; id: string; value: string; makeSpace: boolean }[] = [];
  let commits: Promise<unknown>[] = [];
  const commit = async (isLast: boolean) => {
    // Commits keep their order, so the later version of an item that was found twice wins.
    commits.push(engine.commit(writes));
    added(writes.length);
    writes = [];
    if (commits.length < commitsAtOnce && !isLast) return;
    await Promise.all(commits);
    commits = [];
  };
  for (const { id, name } of from.items()) {
    writes.push({ kind: 'put', space, id, value: name, makeSpace: true });
    if (writes.length === commitWritesMax) await commit(false);
  }
  if (writes.length > 0) await commit(true);
  await Promise.all(commits);
  return (await engine.count(space)) ?? 0;
}

/** Creates the space, which may have no items. */
async function createEmpty(engine: Engine, space: Space): Promise<void> {
  const id = 'made by recover';
  await engine.commit([{ kind: 'create', space, id, value: '', makeSpace: true }]);
  await engine.commit([{ kind: 'delete', space, id }]);
}

function describeLosses({ journal, problem, mayBeOld }: Salvaged, noted: number): string[] {
  const problems: string[] = [];
  if (problem !== undefined)
    problems.push(
      `the structure of the file is damaged (${problem}), so that tables and the last changes may be lost without a trace`,
    );
  if (mayBeOld)
    problems.push(
      'which pages were free is lost, so that items may be among the saved ones that were deleted or replaced before',
    );
  const lost = describeLostCommits(
    [...journal.keys()],
    Math.max(0, ...Array.from(journal.values(), ({ first }) => first)),
    noted,
  );
  if (lost !== undefined) problems.push(lost);
  return problems;
}

/** Describes the lost commits, from the first one in the journal up to the last one that was noted beside the store. */
function describeLostCommits(found: readonly number[], first: number, noted: number): string | undefined {
  const known = new Set(found);
  const last = Math.max(noted, ...found);
  let lost = 0;
  for (let commit = Math.max(1, first); commit <= last; commit++) if (!known.has(commit)) lost++;
  return lost === 0 ? undefined : `${lost} of the last commits are lost, and nobody knows what they changed`;
}

function checkIsEmpty(folder: string): void {
  const [first] = (existsSync(folder) ? readdirSync(folder) : []).filter((name) => name !== draftName);
  if (first !== undefined)
    throw new SettingsError([`${folder} is not empty (${first}); recover into an empty folder`]);
}

import { readFileSync, rmSync, writeSync } from 'node:fs';
import { ServiceError, SettingsError } from '../../../src/errors.ts';
import type { Space, Write } from '../../../src/storage/engine.ts';
import { verifyStore } from '../../../src/storage/lmdb/file/verify.ts';
import { copyDamaged, type Damage } from './damage.ts';
import { StoreOpener } from './store-opener.ts';

/**
 * A program that damages copies of a store, one after the other, reads and writes each, and prints a line for each: what became of
 * it. A crash of the process shows which damage it was, because its number is printed before.
 */
export interface Task {
  readonly source: string;
  /** A path for the copies. */
  readonly file: string;
  /** The names of all items by space and id. */
  readonly content: Content;
  readonly damages: readonly Damage[];
}

export type Content = Record<string, Record<string, string>>;

/** What happened, in the order of the steps. */
type Outcome = 'correct' | 'reported' | `wrong: ${string}`;

const [taskFile] = process.argv.slice(2) as [string];
const { source, file, content, damages } = JSON.parse(readFileSync(taskFile, 'utf8')) as Task;
for (const [index, damage] of damages.entries()) {
  writeSync(1, `${index} `);
  writeSync(1, `${await outcomeOf(damage)}\n`);
}

async function outcomeOf(damage: Damage): Promise<Outcome> {
  for (const end of ['', '-lock', '-mutex', '-mutex-lock', '-probe'])
    rmSync(`${file}${end}`, { force: true });
  copyDamaged(source, file, damage);
  const verified = await attempt(async () => (await verifyStore(file)).problems.length);
  const isWhole = verified.result === 0;
  const states = [verified.outcome, await useAndReopen()];
  const wrong = states.find((state) => state.startsWith('wrong'));
  if (wrong !== undefined) return wrong;
  const isReported = states.includes('reported') || !isWhole;
  if (isWhole && isReported) return 'wrong: verify has called it whole';
  return isReported ? 'reported' : 'correct';
}

/** Reads everything, writes to every space, compacts, and reads everything again. */
async function useAndReopen(): Promise<Outcome> {
  const expected = structuredClone(content);
  const { outcome: first } = await withStore((opener) => {
    const read = readAll(opener, expected);
    if (read.startsWith('wrong')) return read;
    write(opener, expected);
    return read;
  });
  if (first.startsWith('wrong')) return first;
  const { outcome: second } = await withStore((opener) => readAll(opener, expected));
  if (second.startsWith('wrong')) return `wrong: after writing, ${second.slice(7)}` as Outcome;
  return first === 'reported' || second === 'reported' ? 'reported' : 'correct';
}

async function withStore(work: (opener: StoreOpener) => Outcome): Promise<{ readonly outcome: Outcome }> {
  const { outcome, result } = await attempt(async () => {
    const opener = new StoreOpener(file);
    try {
      return work(opener);
    } finally {
      await opener.close();
    }
  });
  return { outcome: result ?? outcome };
}

function readAll(opener: StoreOpener, expected: Content): Outcome {
  let isReported = false;
  const check = (space: string, read: () => unknown, wanted: unknown): Outcome | undefined => {
    try {
      const found = JSON.stringify(read());
      return found === JSON.stringify(wanted)
        ? undefined
        : `wrong: ${space} has ${String(found).slice(0, 200)}`;
    } catch (error) {
      isReported = true;
      return isInWords(error) ? undefined : stackOf(error);
    }
  };
  const { reader } = opener;
  const checks = [check('the list of spaces', () => reader.spaces(), Object.keys(expected).sort())];
  for (const [space, items] of Object.entries(expected) as [Space, Record<string, string>][]) {
    checks.push(check(space, () => reader.describe(space)?.count, Object.keys(items).length));
    checks.push(
      check(space, () => textOf(reader.scan(space, {})?.chunks as Iterable<Buffer>), wholeTextOf(items)),
    );
    for (const [id, name] of Object.entries(items))
      checks.push(check(`${space} ${id}`, () => reader.get(space, id), name));
    checks.push(check(space, () => reader.get(space, 'none') ?? null, null));
  }
  return checks.find((outcome) => outcome !== undefined) ?? (isReported ? 'reported' : 'correct');
}

/** Creates and replaces an item in every space, and notes in `expected` what was accepted. */
function write(opener: StoreOpener, expected: Content): void {
  const { committer, transact } = opener;
  for (const [space, items] of Object.entries(expected) as [Space, Record<string, string>][]) {
    const [first = 'm'] = Object.keys(items);
    const writes: Write[] = [
      { kind: 'put', space, id: first, value: 'replaced', makeSpace: false },
      { kind: 'create', space, id: 'm created', value: 'created', makeSpace: false },
    ];
    for (const write of writes) {
      if (acceptedOf(() => transact(() => committer.carryOut([[write]]))) && 'value' in write)
        items[write.id] = write.value;
    }
  }
  acceptedOf(() => opener.compactAll());
}

function acceptedOf(work: () => unknown): boolean {
  try {
    const results = work();
    return Array.isArray(results) && results[0] === undefined;
  } catch (error) {
    if (isInWords(error)) return false;
    throw error;
  }
}

async function attempt<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly outcome: Outcome; readonly result?: Result }> {
  try {
    return { outcome: 'correct', result: await work() };
  } catch (error) {
    return { outcome: isInWords(error) ? 'reported' : stackOf(error) };
  }
}

/** Whether a command reports the error as a sentence: its own errors, and those of LMDB. */
function isInWords(error: unknown): boolean {
  const isOfLmdb = typeof (error as { readonly code?: unknown }).code === 'number';
  return error instanceof ServiceError || error instanceof SettingsError || isOfLmdb;
}

function stackOf(error: unknown): Outcome {
  return `wrong: a stack trace: ${String((error as Error).stack)
    .replaceAll('\n', ' ')
    .slice(0, 600)}`;
}

function textOf(chunks: Iterable<Buffer>): string {
  return Array.from(chunks, (chunk) => chunk.toString()).join('');
}

/** As a response contains it. */
function wholeTextOf(items: Record<string, string>): string {
  const ids = Object.keys(items).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return ids.map((id) => JSON.stringify({ id, name: items[id] })).join(',');
}

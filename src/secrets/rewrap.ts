import type { Engine } from '../storage/engine.ts';
import { type Item, pagesOf } from '../storage/item-text.ts';
import { rewrapsAtOnceMax } from './limits.ts';
import { lookAt, type SealedRecords } from './sealed-records.ts';
import type { Sealer } from './sealer.ts';

/** The result of one pass over all secrets. */
export interface Pass {
  /** Records checked. */
  readonly records: number;
  /** Records with secrets that were not under the current key. */
  readonly rewrapped: number;
  /** One sentence for each secret that could not be rewrapped. */
  readonly problems: readonly string[];
}

/**
 * Moves every secret to the current key while the service runs. A record that changes meanwhile is rewrapped in its new
 * state. The next pass finds secrets that are written under an old key behind the current position.
 *
 * @param report called after each page with the records so far
 */
export async function rewrapAll(
  engine: Engine,
  sealer: Sealer,
  records: readonly SealedRecords[],
  report: (records: number) => void,
): Promise<Pass> {
  let seen = 0;
  let rewrapped = 0;
  const problems: string[] = [];
  for (const kind of records) {
    for await (const page of pagesOf(engine, kind.space)) {
      const left = [...page].reverse();
      const rewrapNext = async (): Promise<void> => {
        for (let item = left.pop(); item !== undefined; item = left.pop())
          if (await rewrapRecord(engine, sealer, kind, item, problems)) rewrapped++;
      };
      await Promise.all(Array.from({ length: rewrapsAtOnceMax }, rewrapNext));
      seen += page.length;
      report(seen);
    }
  }
  return { records: seen, rewrapped, problems };
}

async function rewrapRecord(
  engine: Engine,
  sealer: Sealer,
  kind: SealedRecords,
  { id, name }: Item,
  problems: string[],
): Promise<boolean> {
  const { space } = kind;
  for (let text: string | undefined = name; text !== undefined; text = await engine.get(space, id)) {
    const value = rewrappedText(sealer, kind, id, text, problems);
    if (value === text) return false;
    const rejection = await engine.commit([{ kind: 'replace', space, id, value, ifValue: text }]);
    if (rejection === undefined) return true;
  }
  return false;
}

/** A secret that does not open does not stop the others. */
function rewrappedText(
  sealer: Sealer,
  kind: SealedRecords,
  id: string,
  text: string,
  problems: string[],
): string {
  try {
    return kind.exchange(id, text, (seal, place) => sealer.rewrap(seal, place));
  } catch {
    lookAt(kind, id, text, problems, (seal, place) => sealer.rewrap(seal, place));
    return text;
  }
}

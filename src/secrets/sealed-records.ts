import type { Engine } from '../storage/engine.ts';
import { type Item, pagesOf } from '../storage/item-text.ts';
import type { MasterKeys } from './key-file.ts';
import { rewrapsAtOnceMax } from './limits.ts';
import type { KeyNote } from './master-keys.ts';
import { sealKeyId } from './seal-format.ts';
import type { EncryptionContext, SealedRecords, Sealer } from './sealer.ts';

export interface SecretsFound {
  readonly secrets: number;
  /** Number of secrets by the id of their master key. */
  readonly underKeys: ReadonlyMap<string, number>;
  /** One sentence for each secret that does not open; it names the record and nothing secret. */
  readonly problems: readonly string[];
}

/** Opens every secret of the store, and stores none of them. */
export async function openAll(
  engine: Engine,
  sealer: Sealer,
  records: readonly SealedRecords[],
): Promise<SecretsFound> {
  let secrets = 0;
  const underKeys = new Map<string, number>();
  const problems: string[] = [];
  for (const kind of records) {
    for await (const page of pagesOf(engine, kind.space)) {
      for (const { id, name: text } of page) {
        lookAt(kind, id, text, problems, (seal, context) => {
          secrets++;
          const keyId = sealKeyId(seal);
          underKeys.set(keyId, (underKeys.get(keyId) ?? 0) + 1);
          sealer.open(seal, context);
        });
      }
    }
  }
  return { secrets, underKeys, problems };
}

/** Calls `look` for each seal of a record, and reports what it throws as a problem. */
function lookAt(
  { space, exchange }: SealedRecords,
  id: string,
  text: string,
  problems: string[],
  look: (seal: string, context: EncryptionContext) => void,
): void {
  try {
    exchange(id, text, (seal, context) => {
      try {
        look(seal, context);
      } catch (error) {
        problems.push(`${context.record} ${context.name}, ${context.field}: ${failureDetail(error)}`);
      }
      return seal;
    });
  } catch {
    problems.push(`${space} ${id}: is not a record of this service`);
  }
}

function failureDetail(error: unknown): string {
  const { details } = error as { details?: { detail?: string } };
  return details?.detail ?? (error as Error).name;
}

/** A master key that is loaded, as operators see it: nothing of it is secret. */
interface KeyStateFound {
  readonly id: string;
  /** Whether it seals now. */
  readonly is_writing: boolean;
  /** `unused`: the store has never needed it. */
  readonly state: KeyNote['state'] | 'unused';
  /** When it came into that state (RFC 3339); null if it is `unused`. */
  readonly since: string | null;
  /** How many secrets it encrypts. */
  readonly secrets: number;
}

/** The loaded keys, the writing key first. */
export function keyStates(
  keys: MasterKeys,
  notes: readonly KeyNote[],
  { underKeys }: Pick<SecretsFound, 'underKeys'>,
): readonly KeyStateFound[] {
  const writing = keys.writing().id;
  const noteById = new Map(notes.map((note) => [note.keyId, note]));
  return keys.all().map(({ id }) => {
    const note = noteById.get(id);
    return {
      id,
      is_writing: id === writing,
      state: note?.state ?? 'unused',
      since: note === undefined ? null : new Date(note.since).toISOString(),
      secrets: underKeys.get(id) ?? 0,
    };
  });
}

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
    return kind.exchange(id, text, (seal, context) => sealer.rewrap(seal, context));
  } catch {
    lookAt(kind, id, text, problems, (seal, context) => sealer.rewrap(seal, context));
    return text;
  }
}

import type { KeyNote } from './key-notes.ts';
import type { MasterKeys } from './master-keys.ts';
import type { SecretsFound } from './sealed-records.ts';

/** A master key that is loaded, as operators see it: nothing of it is secret. */
export interface KeyStateFound {
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
  const noteOf = new Map(notes.map((note) => [note.keyId, note]));
  return keys.all().map(({ id }) => {
    const note = noteOf.get(id);
    return {
      id,
      is_writing: id === writing,
      state: note?.state ?? 'unused',
      since: note === undefined ? null : new Date(note.since).toISOString(),
      secrets: underKeys.get(id) ?? 0,
    };
  });
}

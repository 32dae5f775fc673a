import { audited } from '../audit/audit.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { creation, Records } from '../storage/records.ts';

/**
 * The store's record of a master key that may have sealed some of its secrets, in `service:sealing` under the key's id.
 * So the start reports a lost or swapped key, before the first secret fails to open.
 */
export interface KeyNote {
  readonly keyId: string;
  /**
   * `retiring`: another key has replaced it, but secrets may still be under it. `retired`: no secret is under it, and the
   * key is being removed from the key file.
   */
  readonly state: 'sealing' | 'retiring' | 'retired';
  /** Time of the last state change, in milliseconds since 1970. */
  readonly since: number;
}

const space = 'service:sealing';

/** Every key that secrets of this store may need. */
export async function readKeyNotes(engine: Engine): Promise<readonly KeyNote[]> {
  const notes: KeyNote[] = [];
  const records = new Records<Omit<KeyNote, 'keyId'>>(engine, 'sealing');
  for await (const { id, value } of records.list()) notes.push({ keyId: id, ...value });
  return notes;
}

/** Records that this key seals from now on, and that every other sealing key is retiring. */
export async function noteSealing(engine: Engine, keyId: string, now: number): Promise<void> {
  for (;;) {
    const notes = await readKeyNotes(engine);
    const writes = notes
      .filter((note) => note.keyId !== keyId && note.state === 'sealing')
      .map((note) => changed(note, { ...note, state: 'retiring', since: now }));
    const own = notes.find((note) => note.keyId === keyId);
    const sealing: KeyNote = { keyId, state: 'sealing', since: now };
    if (own === undefined) writes.push(created(sealing));
    else if (own.state !== 'sealing') writes.push(changed(own, sealing));
    if (writes.length === 0) return;
    const act = { what: 'secrets.rotated', on: `master key ${keyId}`, by: 'cli' } as const;
    if ((await engine.commit([...writes, audited(act, now)])) === undefined) return;
    // Another process has changed the notes meanwhile: try again.
  }
}

/**
 * Records that this key seals too: the processes of a service may switch to a new key one after the other.
 *
 * @returns the note; undefined when there was one already
 */
export async function noteKey(engine: Engine, keyId: string, now: number): Promise<KeyNote | undefined> {
  const note: KeyNote = { keyId, state: 'sealing', since: now };
  const act = { what: 'secrets.key_noted', on: `master key ${keyId}`, by: 'service' } as const;
  return (await engine.commit([created(note), audited(act, now)])) === undefined ? note : undefined;
}

/** Records that no secret is under a key any more. @returns the new note */
export async function noteRetired(engine: Engine, note: KeyNote, now: number): Promise<KeyNote> {
  const retired: KeyNote = { ...note, state: 'retired', since: now };
  await engine.commit([changed(note, retired)]);
  return retired;
}

/** Removes the note of a key that is no longer in use. */
export async function forgetKey(engine: Engine, note: KeyNote): Promise<void> {
  await engine.commit([removed(note)]);
}

function created({ keyId, ...note }: KeyNote): Write {
  return creation('sealing', keyId, note);
}

function changed(before: KeyNote, after: KeyNote): Write {
  return { kind: 'replace', space, id: after.keyId, value: textOf(after), ifValue: textOf(before) };
}

function removed(note: KeyNote): Write {
  return { kind: 'delete', space, id: note.keyId, ifValue: textOf(note) };
}

function textOf({ keyId: _id, ...note }: KeyNote): string {
  return JSON.stringify(note);
}

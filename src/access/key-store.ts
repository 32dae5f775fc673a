import { randomBytes } from '../random.ts';
import type { Engine, Write } from '../storage/engine.ts';
import { itemsOf } from '../storage/item-text.ts';
import type { ApiKey } from './api-key.ts';

/**
 * Where keys lie: each in `service:api-keys`, and in `service:access` their generation, another one with every change.
 * So a process learns by one look whether it still knows all keys; and since the generation is made with the first key
 * and never goes, that it is there tells that keys are required, for ever: the last key revoked opens nothing.
 */
const keysSpace = 'service:api-keys';
const accessSpace = 'service:access';
const generationId = 'api-keys';
const usesSpace = 'service:api-key-uses';

/** Undefined as long as there never was a key. */
export function readGeneration(engine: Engine): Promise<string | undefined> {
  return engine.get(accessSpace, generationId);
}

/** All keys, those that have ended among them, in the order of their ids. */
export async function readKeys(engine: Engine): Promise<ApiKey[]> {
  const scan = await engine.scan(keysSpace);
  const keys: ApiKey[] = [];
  for await (const { name } of itemsOf(scan?.chunks ?? [])) keys.push(JSON.parse(name) as ApiKey);
  return keys;
}

/** What becomes of the keys, and what the change gives. */
export interface KeysChange<Result> {
  readonly writes: readonly Write[];
  readonly result: Result;
}

/**
 * Changes keys as they stand, anew whenever somebody else has changed any of them meanwhile; durable when it resolves.
 * What `change` throws ends it, with nothing written; so does a change without writes.
 */
export async function changeKeys<Result>(
  engine: Engine,
  change: (keys: readonly ApiKey[]) => KeysChange<Result> | Promise<KeysChange<Result>>,
): Promise<Result> {
  for (;;) {
    const generation = await readGeneration(engine);
    const { writes, result } = await change(await readKeys(engine));
    if (writes.length === 0) return result;
    const refusal = await engine.commit([nextGeneration(generation), ...writes]);
    if (refusal === undefined) return result;
  }
}

function nextGeneration(before: string | undefined): Write {
  const place = { space: accessSpace, id: generationId, value: randomBytes(12).toString('hex') } as const;
  if (before === undefined) return { kind: 'create', ...place, makeSpace: true };
  return { kind: 'replace', ...place, ifValue: before };
}

export function keyCreated(key: ApiKey): Write {
  return { kind: 'create', space: keysSpace, id: key.id, value: JSON.stringify(key), makeSpace: true };
}

export function keyReplaced(before: ApiKey, after: ApiKey): Write {
  const value = JSON.stringify(after);
  return { kind: 'replace', space: keysSpace, id: before.id, value, ifValue: JSON.stringify(before) };
}

/** A key and what is known of its use. */
export async function keyDeleted(engine: Engine, { id }: ApiKey): Promise<Write[]> {
  const isUsed = (await lastUse(engine, id)) !== undefined;
  return [
    { kind: 'delete', space: keysSpace, id },
    ...(isUsed ? ([{ kind: 'delete', space: usesSpace, id }] as const) : []),
  ];
}

/** When a key was last used, to some minutes; undefined when it never was. */
export function lastUse(engine: Engine, id: string): Promise<string | undefined> {
  return engine.get(usesSpace, id);
}

/** Apart from the key's own record: whoever checks keys must not be able to bring back one that is revoked. */
export async function noteUse(engine: Engine, id: string, at: string): Promise<void> {
  const refusal = await engine.commit([{ kind: 'replace', space: usesSpace, id, value: at }]);
  if (refusal === undefined) return;
  await engine.commit([{ kind: 'create', space: usesSpace, id, value: at, makeSpace: true }]);
}

import { randomBytes } from '../../random.ts';
import type { Engine, Write } from '../../storage/engine.ts';
import { creation, Records } from '../../storage/records.ts';
import type { ApiKey } from './api-key.ts';

/**
 * Keys are stored in `service:api-keys`. `service:access` stores their generation, which every change replaces, so one
 * read shows a process whether its cached keys are current. The generation is created with the first key and never
 * deleted. Keys are required while it exists, so revoking the last key does not open the service.
 */
const keysSpace = 'service:api-keys';
const accessSpace = 'service:access';
const generationId = 'api-keys';
const usesSpace = 'service:api-key-uses';

/** Undefined if no key was ever created. */
export function readGeneration(engine: Engine): Promise<string | undefined> {
  return engine.get(accessSpace, generationId);
}

/** All keys, including those that have ended, ordered by id. */
export async function readKeys(engine: Engine): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  for await (const { value } of new Records<ApiKey>(engine, 'api-keys').list()) keys.push(value);
  return keys;
}

/** The writes of a change of the keys, and its result. */
export interface KeysChange<Result> {
  readonly writes: readonly Write[];
  readonly result: Result;
}

/**
 * Changes the current keys, and retries if another process changed any key meanwhile. Durable when it resolves. Nothing is
 * written if `change` throws or returns no writes.
 */
export async function changeKeys<Result>(
  engine: Engine,
  change: (keys: readonly ApiKey[]) => KeysChange<Result> | Promise<KeysChange<Result>>,
): Promise<Result> {
  for (;;) {
    const generation = await readGeneration(engine);
    const { writes, result } = await change(await readKeys(engine));
    if (writes.length === 0) return result;
    const conflict = await engine.commit([nextGeneration(generation), ...writes]);
    if (conflict === undefined) return result;
  }
}

function nextGeneration(before: string | undefined): Write {
  const place = { space: accessSpace, id: generationId, value: randomBytes(12).toString('hex') } as const;
  if (before === undefined) return { kind: 'create', ...place, makeSpace: true };
  return { kind: 'replace', ...place, ifValue: before };
}

export function keyCreated(key: ApiKey): Write {
  return creation('api-keys', key.id, key);
}

export function keyReplaced(before: ApiKey, after: ApiKey): Write {
  const value = JSON.stringify(after);
  return { kind: 'replace', space: keysSpace, id: before.id, value, ifValue: JSON.stringify(before) };
}

/** Deletes a key and its last use. */
export async function keyDeleted(engine: Engine, { id }: ApiKey): Promise<Write[]> {
  const isUsed = (await lastUse(engine, id)) !== undefined;
  return [
    { kind: 'delete', space: keysSpace, id },
    ...(isUsed ? ([{ kind: 'delete', space: usesSpace, id }] as const) : []),
  ];
}

/** When a key was last used, accurate to some minutes; undefined if it was never used. */
export function lastUse(engine: Engine, id: string): Promise<string | undefined> {
  return engine.get(usesSpace, id);
}

/** The use is stored apart from the key, so that writing it cannot restore a revoked key. */
export async function noteUse(engine: Engine, id: string, at: string): Promise<void> {
  const conflict = await engine.commit([{ kind: 'replace', space: usesSpace, id, value: at }]);
  if (conflict === undefined) return;
  await engine.commit([{ kind: 'create', space: usesSpace, id, value: at, makeSpace: true }]);
}

import type { Actor } from '../../audit/audit.ts';
import type { ApiKey } from './api-key.ts';

/** Recorded creators of a key: a longer chain is one of successors, each made by the one before. */
export const apiKeyCreatorsMax = 16;

/** Who has made a key, who has made the key that made it, and so on. */

/**
 * The creators of a key that `by` makes, the first one first. Of a longer chain than `apiKeyCreatorsMax`, the middle is left out: the
 * beginning names the holder, and the end the creator.
 */
export function creatorsBy(by: Actor, keys: readonly ApiKey[]): readonly Actor[] {
  const parent = keys.find(({ id }) => by === `key:${id}`);
  const chain = [...(parent?.creators ?? []), by];
  return chain.length <= apiKeyCreatorsMax
    ? chain
    : [...chain.slice(0, 2), ...chain.slice(2 - apiKeyCreatorsMax)];
}

/**
 * Whose share of the keys a key counts in: the first key or administrator of its chain, so that keys that make keys get no shares
 * of their own. Undefined for a key that the command line made: the operator has no share.
 */
export function firstHolder({ creators = [] }: Pick<ApiKey, 'creators'>): Actor | undefined {
  return creators.find((each) => each.startsWith('key:') || each.startsWith('administrator:'));
}

/**
 * Whether a key was created by somebody, also through other keys.
 *
 * @param creator `key:ID`, `administrator:ID` or `cli`, as `created_by` has it, or the id alone
 */
export function wasCreatedBy({ creators = [] }: Pick<ApiKey, 'creators'>, creator: string): boolean {
  return creators.some((each) => each === creator || each.endsWith(`:${creator}`));
}

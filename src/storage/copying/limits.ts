import { commitWritesMax } from '../limits.ts';

/** Bounds of storage/copying: each with its unit at the end of its name, and the reason for its value. */

/** Items of one commit of a copying; the hundredth write is the marker of its progress. */
export const copyItemsMax = commitWritesMax - 1;
/** Bytes of their ids and values, beyond which a commit takes no further item: a slow line still sends it in one attempt. */
export const copyCommitBytesMax = 512 * 1024;
/** Commits of a copying at once: docs/decisions/moving-stores.md has the measurements. */
export const copyCommitsMax = 4;
/** How long a copying goes on asking a store that is at its limit: DynamoDB doubles what it takes within minutes. */
export const copyPatienceMsMax = 5 * 60 * 1_000;
/** The pause between such attempts; the engine has made longer ones of its own before. */
export const copyPauseMs = 250;

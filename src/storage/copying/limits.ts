import { commitWritesMax } from '../limits.ts';

/** Bounds of storage/copying: each with its unit at the end of its name, and the reason for its value. */

/** Items in one commit of a copy; the hundredth write is the progress marker. */
export const copyItemsMax = commitWritesMax - 1;
/** Bytes of ids and values in one commit: few enough that a slow line sends it in one attempt. */
export const copyCommitBytesMax = 512 * 1024;
/** Concurrent commits of a copy: docs/decisions/moving-stores.md has the measurements. */
export const copyCommitsMax = 4;
/** How long a copy retries when a store is at its limit: DynamoDB doubles its capacity within minutes. */
export const copyRetryMsMax = 5 * 60 * 1_000;
/** The pause between these attempts; the engine itself has already retried with longer pauses. */
export const copyPauseMs = 250;

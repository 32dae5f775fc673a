/** Bounds of storage/lmdb: each with its unit at the end of its name, and the reason for its value. */

/** Requests waiting for the store; at 40,000 commits a second this is a quarter of a second of work. */
export const commitQueueMax = 10_000;
/** Characters of their ids and values: with all copies of them a few hundred megabytes at worst. */
export const commitQueueSizeMax = 64 * 1024 * 1024;
/** Commits that share one flush: enough to make the flush cheap, few enough to keep the event loop free. */
export const commitBatchMax = 512;
/** Characters that one flush takes: some tens of milliseconds of writing. */
export const commitBatchSizeMax = 8 * 1024 * 1024;
/** A flush that takes longer will not come to an end: the process makes one. */
export const flushMsMax = 15_000;
/** Snapshots held at once by all threads of all processes: long reads, and one for each thread. */
export const snapshotsMax = 4_096;
/** A leaf and LMDB's header of 24 bytes fill whole pages; docs/decisions/leaf-store.md has the measurements. */
export const leafBytesMax = 8 * 1024 - 24;
/** Characters that the journal may hold before its changes go into the leaves: about 12,000 small ones. */
export const journalSizeMax = 1024 * 1024;
/** Characters folded per character committed: the journal shrinks while writing goes on. */
export const compactionShare = 3;
/** Without a commit for so long, the journal is folded, in steps that hold up a commit for some milliseconds. */
export const compactionIdleMs = 100;
export const compactionStepSize = 32 * 1024;
/** What a stop spends on it: a full journal takes half as long. */
export const compactionClosingMsMax = 2_000;
/** Spaces up to this are kept in memory as they were read, and answered in one piece. */
export const smallSpaceBytesMax = 32 * 1024;
/** So many of them: with their answers at most 16 MiB. */
export const smallSpacesKeptMax = 256;

/** Bounds of storage/lmdb: each with its unit at the end of its name, and the reason for its value. */

/** Requests waiting for the store; at 40,000 commits a second this is a quarter of a second of work. */
export const commitQueueMax = 10_000;
/** Characters of the queued ids and values: with all copies of them a few hundred megabytes at worst. */
export const commitQueueSizeMax = 64 * 1024 * 1024;
/** Commits that share one flush: enough to make the flush cheap, few enough to keep the event loop free. */
export const commitBatchMax = 512;
/** Characters that a write costs beside its own: finding its item, and rewriting the leaf of an item later. */
export const writeCost = 512;
/** What a flush costs, in characters: some tens of milliseconds, for which a caller that writes seldom waits. */
export const commitBatchCostMax = 2 * 1024 * 1024;
/** What each of several callers adds to a flush, in characters: a batch of 100 small items, or as many single ones. */
export const callerShareMax = 64 * 1024;
/** What a flush for one of several callers costs, when it has queued more than its share: some milliseconds. */
export const largeShareCostMax = 256 * 1024;
/** A flush that took longer says nothing of its work: the machine was paused, or the disk stalled. */
export const largeRestMsMax = 1_000;
/** A caller that waits for a response to write again has sent it by then; until then, its time is not given to others. */
export const callerActiveMs = 100;
/** Characters that one caller may queue: half of the queue, so that it is full for no other caller. */
export const callerQueueSizeMax = commitQueueSizeMax / 2;
/** After this time a flush counts as hung, and the process ends. Time in which the process did not run does not count. */
export const flushMsMax = 15_000;
/**
 * How long a read waits for the transaction of a writer that died: the next transaction shows it, and waits for those before it. Only a
 * disk that hangs takes longer.
 */
export const repairMsMax = 1_000;
/** Snapshots held at once by all threads of all processes: long reads, and one for each thread. */
export const snapshotsMax = 4_096;
/**
 * A long read ends when the file has grown by so much since it began, but not in its first seconds: a reader that is neither slow
 * nor unlucky has finished by then. At 64 writers the file of a table under slow readers grew by 87 MB a second.
 */
export const snapshotGrowthBytesMax = 512 * 1024 * 1024;
export const snapshotBoundedAfterMs = 10_000;
/** A sweep costs one `stat` of the file. */
export const snapshotSweepMs = 1_000;
/** A leaf, its checksum of 4 bytes and LMDB's header of 24 bytes fill whole pages; docs/decisions/leaf-store.md has the measurements. */
export const leafBytesMax = 8 * 1024 - 24 - 4;
/** What a thread has checked is checked again after this time: of one read of a large table each second, the checks are below 1 %. */
export const checkedAgainMs = 60_000;
/** Leaves, and spaces, that a thread remembers as checked: those of small requests, and some hundred kilobytes of memory. */
export const checkedKeysMax = 8_192;
/** Damages that a process reports. Further reports would repeat the same cause. */
export const damagesReportedMax = 1_000;
/** Characters in the journal beyond which a store whose compaction has met damage takes no commits: some seconds of reading it. */
export const journalSizeStoppedMax = 16 * 1024 * 1024;
/** Pages that the last transaction may have freed again at the end of the file, without writing them: 4 GiB. */
export const freePagesBeyondEndMax = 2 ** 20;
/** Bytes of memory that LMDB may map: the size of the largest file systems in use, and less than what an address can name. */
export const mapBytesMax = 2 ** 46;
/** Levels of a tree of LMDB: its cursors have room for so many (CURSOR_STACK). */
export const treeDepthMax = 32;
/**
 * Changes in the journal, and characters, at which compaction begins. Each leaf is rewritten once for all of its changes, so a longer
 * journal writes less; but every thread keeps it in memory, and each start reads it.
 */
export const journalChangesMax = 24_000;
export const journalSizeMax = 8 * 1024 * 1024;
/**
 * Bytes of the journal up to which continuous backup may keep entries that are in the leaves: at 20,000 small commits a second
 * the target may be away for a minute, at 100 a second for hours.
 */
export const journalRetainedBytesMax = 256 * 1024 * 1024;
/** Characters compacted per character committed: the journal shrinks during continuous writes. */
export const compactionShare = 3;
/** After this time without a commit, compaction runs, in steps that delay a commit by some milliseconds. */
export const compactionIdleMs = 100;
export const compactionStepSize = 32 * 1024;
/** Time for compaction at shutdown: a full journal takes about as long. */
export const compactionClosingMsMax = 2_000;
/** Leaves that a verification reads in one snapshot: about two milliseconds. */
export const verifiedLeavesPerPage = 32;
/** Spaces up to this size are cached in memory, and sent in one piece. */
export const smallSpaceBytesMax = 32 * 1024;
/** Number of cached small spaces: with their response texts at most 16 MiB. */
export const smallSpacesCachedMax = 256;
/** Cached items of the leaves, and their characters: those that are read often while their space does not change. */
export const itemsCachedMax = 4_096;
export const itemsCachedSizeMax = 4 * 1024 * 1024;
/** How long a read waits for others to share its look at the store with: some hundred small requests. */
export const refreshDelayMsMax = 5;

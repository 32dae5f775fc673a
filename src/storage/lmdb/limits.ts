/** Bounds of storage/lmdb: each with its unit at the end of its name, and the reason for its value. */

/** Requests waiting for the store; at 40,000 commits a second this is a quarter of a second of work. */
export const commitQueueMax = 10_000;
/** Characters of the queued ids and values: with all copies of them a few hundred megabytes at worst. */
export const commitQueueSizeMax = 64 * 1024 * 1024;
/** Commits that share one flush: enough to make the flush cheap, few enough to keep the event loop free. */
export const commitBatchMax = 512;
/** The cost of a write beside its own characters: finding its item, and later rewriting the leaf of the item. */
export const writeCost = 512;
/** The cost of a flush, in characters: some tens of milliseconds, for which a caller that writes seldom waits. */
export const commitBatchCostMax = 2 * 1024 * 1024;
/** The share of each of several callers in a flush, in characters: a batch of 100 small items, or as many single ones. */
export const callerShareMax = 64 * 1024;
/** The cost of a flush for one of several callers that has queued more than its share: some milliseconds. */
export const largeShareCostMax = 256 * 1024;
/** The duration of a longer flush says nothing about its work: the machine was paused, or the disk stalled. */
export const largeRestMsMax = 1_000;
/** A caller that waits for its response before the next write has sent that write by then. Until then, it keeps its share of the time. */
export const callerActiveMs = 100;
/** Characters that one caller may queue: half of the queue, so that the queue is not full for other callers. */
export const callerQueueSizeMax = commitQueueSizeMax / 2;
/** After this time a flush counts as hung, and the process ends. Time in which the process did not run does not count. */
export const flushMsMax = 15_000;
/**
 * How long a read waits until the transaction of a dead writer becomes visible. The next transaction makes it visible, after it has waited
 * for earlier ones. Only a hanging disk takes longer.
 */
export const repairMsMax = 1_000;
/** Snapshots held at once by all threads of all processes: long reads, and one for each thread. */
export const snapshotsMax = 4_096;
/**
 * A long read ends when the file has grown by this much since the read began, but not in its first seconds: a normal reader has finished by
 * then. With 64 writers, the file of a table under slow readers grew by 87 MB a second.
 */
export const snapshotGrowthBytesMax = 512 * 1024 * 1024;
export const snapshotBoundedAfterMs = 10_000;
/** A sweep costs one `stat` of the file. */
export const snapshotSweepMs = 1_000;
/** A leaf, its checksum of 4 bytes and LMDB's header of 24 bytes fill whole pages; docs/decisions/leaf-store.md has the measurements. */
export const leafBytesMax = 8 * 1024 - 24 - 4;
/** A thread checks a leaf again after this time. With one read of a large table each second, the checks take less than 1 %. */
export const checkedAgainMs = 60_000;
/** Leaves and spaces that a thread remembers as checked: enough for small requests, in some hundred kilobytes of memory. */
export const checkedKeysMax = 8_192;
/** Damages that a process reports. Further reports would repeat the same cause. */
export const damagesReportedMax = 1_000;
/** Characters in the journal from which on a store with damaged compaction takes no commits. Reading them takes some seconds. */
export const journalSizeStoppedMax = 16 * 1024 * 1024;
/** Pages that the last transaction may have freed at the end of the file without writing them: 4 GiB. */
export const freePagesBeyondEndMax = 2 ** 20;
/** Bytes of memory that LMDB may map: the size of the largest file systems in use, and less than the address space. */
export const mapBytesMax = 2 ** 46;
/** Levels of LMDB's trees: its cursors have room for this many (CURSOR_STACK). */
export const treeDepthMax = 32;
/**
 * Changes in the journal, and characters, at which compaction begins. Each leaf is rewritten once for all of its changes, so a longer journal
 * saves writes. But every thread keeps the journal in memory, and each start reads it.
 */
export const journalChangesMax = 24_000;
export const journalSizeMax = 8 * 1024 * 1024;
/**
 * Bytes of the journal up to which continuous backup may keep entries that are in the leaves. The target may be out of reach for a minute at
 * 20,000 small commits a second, or for hours at 100 a second.
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
/** How long a read waits for other reads, to share one refresh of the snapshot: some hundred small requests. */
export const refreshDelayMsMax = 5;

/** Bounds of storage/lmdb/backup: each with its unit at the end of its name, and the reason for its value. */

/** Bytes that a checksum or a copy reads at once: a megabyte keeps a disk busy, and costs no memory worth counting. */
export const readBytesMax = 1024 * 1024;
/** Bytes that a copy writes and flushes at once: about a millisecond each. */
export const copiedBytesPerStep = 256 * 1024;
/** Readers of a copy that is being written: few, because they are memory that is mapped from a file of that size. */
export const copyReadersMax = 8;
/** A backup works a tenth of the time while others write. */
export const restPerWork = 9;
/** Growth of the store's file from which on a backup does not rest: some seconds of many updates. */
export const throttledGrowthBytesMax = 128 * 1024 * 1024;
/** A manifest has a few hundred bytes; a longer file is not ours. */
export const manifestBytesMax = 64 * 1024;
/** Characters at which a segment is closed: some seconds of a busy store, and some ten megabytes of memory to write it. */
export const segmentSizeMax = 4 * 1024 * 1024;
/** Bytes of a segment, as text: the closing size, and one more commit of the greatest size, whose characters may be three bytes. */
export const segmentBytesMax = 128 * 1024 * 1024;
/** Segments that a restore reads ahead: as many as hide the delay of a distant target. */
export const segmentsAheadMax = 3;
/** Characters of changes that a restore applies in one transaction: so many that each leaf is rewritten seldom. */
export const replaySizeMax = 32 * 1024 * 1024;
/** How often the process that makes backups says in the store that it is alive: one small flush. */
export const leaseBeatMs = 10_000;
/** After this silence another process takes over; of a process that has ended, it does so at once. */
export const leaseSilenceMsMax = 35_000;
/** How long a claim of a distant target is left alone before it is read again: another one that began before it has ended by then. */
export const claimSettleMs = 1_000;
/** Former owners that a target names: each is a restore or a move of the store. */
export const formerStoresMax = 32;
/** How often continuous backup reads to whom the target belongs: a request to a distant target. */
export const ownerLookMs = 60_000;
/** How often continuous backup sends a heartbeat: the state of a minute ago can be restored, and a bucket gets three requests a minute. */
export const heartbeatMs = 20_000;
/** A time that is further ahead than this is wrong: clocks of two machines differ by less. */
export const futureSlackMs = 60_000;

/** Bounds of storage/lmdb/backup: each with its unit at the end of its name, and the reason for its value. */

/** Bytes that a checksum or a copy reads at once: a megabyte keeps a disk busy, and costs no memory worth counting. */
export const readBytesMax = 1024 * 1024;
/** A manifest has a few hundred bytes; a longer file is not ours. */
export const manifestBytesMax = 64 * 1024;

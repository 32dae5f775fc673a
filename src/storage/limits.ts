/** Bounds of storage: each with its unit at the end of its name, and the reason for its value. */

/** DynamoDB's bound on a partition key is 2,048 bytes; half of it leaves room for a store's own prefix. */
export const itemIdBytesMax = 1_024;
/** DynamoDB's bound on a table name. */
export const tableNameCharactersMax = 255;
/** Items per scan when the service reads a whole space: a longer scan would stop LMDB from reusing old pages. */
export const scanPageItemsMax = 1_000;
/** DynamoDB allows 100 writes in one transaction. */
export const commitWritesMax = 100;
/** With less free space than this, the disk counts as full: no transaction may run out of disk. */
export const diskReserveBytes = 16 * 1024 * 1024;
/**
 * Down to this much free space, the store still accepts commits that reduce the data, such as deletes, and still compacts: otherwise a full
 * disk could not be emptied. A transaction needs the space only for a moment. The size of the transaction is added.
 */
export const diskFreeingReserveBytes = 4 * 1024 * 1024;
/** With less free space than this, the operator gets a warning about the store's disk: eight times what counts as full. */
export const diskLowBytes = 128 * 1024 * 1024;
/** A long response goes to the socket in pieces of this size; a scan has one buffer of it. */
export const scanChunkBytes = 128 * 1024;
/** How long a failed commit makes the service not ready, unless a commit succeeds: longer than the interval of a health check. */
export const commitFailureReportedMs = 10_000;

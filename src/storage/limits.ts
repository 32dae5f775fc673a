/** Bounds of storage: each with its unit at the end of its name, and the reason for its value. */

/** DynamoDB's bound on a partition key is 2,048 bytes; half of it leaves room for a store's own prefix. */
export const itemIdBytesMax = 1_024;
/** DynamoDB's bound on a table name. */
export const tableNameCharactersMax = 255;
/** Items of one scan where the service goes through a space: a long one would keep old pages from being used again. */
export const scanPageItemsMax = 1_000;
/** DynamoDB takes 100 writes in one transaction. */
export const commitWritesMax = 100;
/** With less than this free the disk counts as full: a transaction must never meet its end. */
export const diskReserveBytes = 16 * 1024 * 1024;
/** Less than this free on the disk of the store is told to the operator: eight times what counts as full. */
export const diskLowBytes = 128 * 1024 * 1024;
/** Piece size in which a long answer is handed to the socket; a scan has one buffer of it. */
export const scanChunkBytes = 128 * 1024;
/** A failed commit counts against being ready for so long, unless one succeeds: long enough for who asks every few seconds. */
export const commitFailureKeptMs = 10_000;

/** Bounds of storage/dynamodb: each with its unit at the end of its name, and the reason for its value. */

/** DynamoDB's bound on a table name. */
export const dynamoTableNameCharactersMin = 3;
/** One attempt: DynamoDB answers within tens of milliseconds, a page of a scan within some hundred; a busy one takes longer. */
export const dynamoAttemptMsMax = 5_000;
/** The last attempt begins by then: longer than DynamoDB takes to make room for a rising load, shorter than callers wait. */
export const dynamoCallMsMax = 10_000;
/** The pause between attempts is a random share of these: doubled each time, from the first to the last. */
export const dynamoRetryDelayMsMin = 25;
export const dynamoRetryDelayMsMax = 1_000;
/** Connections of one process; each carries one request at a time. */
export const dynamoConnectionsMax = 256;
/** Calls under way or waiting for a connection; at 5 ms each this is a tenth of a second of work. */
export const dynamoCallsMax = 4_096;
/** What a refused commit tries anew when a table that it found missing is there; a table that comes and goes ends it. */
export const dynamoMissingTableTriesMax = 4;
/** Each takes 1,000 write units a second: enough for about 2,000 charges a second. */
export const timeOrderedShards = 8;
/** Scans of one table at once: each keeps a page of up to 1 MiB at hand, while another one is taken. */
export const dynamoScanSegments = 4;
/** Items of the first pages of a service's own space; doubled with each page, for most readers leave early. */
export const dynamoFirstPageItems = 64;
export const dynamoPageItemsMax = 1_024;
/** How long a new table may take until it can be used; DynamoDB takes some seconds. */
export const dynamoTableMadeMsMax = 60_000;

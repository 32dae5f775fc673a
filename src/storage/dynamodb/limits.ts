/** Bounds of storage/dynamodb: each with its unit at the end of its name, and the reason for its value. */

/** DynamoDB's bound on a table name. */
export const dynamoTableNameCharactersMin = 3;
/** One attempt: DynamoDB replies within tens of milliseconds, to a scan page within some hundred; longer under load. */
export const dynamoAttemptMsMax = 5_000;
/** The last attempt begins by then: longer than DynamoDB needs to scale up, shorter than callers wait. */
export const dynamoCallMsMax = 10_000;
/** The pause between attempts is a random share of a bound that doubles each time, from the first value to the second. */
export const dynamoRetryDelayMsMin = 25;
export const dynamoRetryDelayMsMax = 1_000;
/** Connections of one process; each carries one request at a time. */
export const dynamoConnectionsMax = 256;
/** Calls in progress or waiting for a connection; at 5 ms each this is a tenth of a second of work. */
export const dynamoCallsMax = 4_096;
/** Attempts of one commit that finds a table missing; the limit ends the loop when the table keeps disappearing. */
export const dynamoMissingTableTriesMax = 4;
/** Each shard accepts 1,000 write units a second: together enough for about 2,000 charges a second. */
export const timeOrderedShards = 8;
/** Concurrent scans of one table: each buffers a page of up to 1 MiB while another one is sent. */
export const dynamoScanSegments = 4;
/** Items of the first page of a service space; doubled with each page, because most readers stop early. */
export const dynamoFirstPageItems = 64;
export const dynamoPageItemsMax = 1_024;
/** How long a new table may take to become active; DynamoDB takes some seconds. */
export const dynamoTableMadeMsMax = 60_000;

/** Every bound of the service, its unit last in its name, with the reason for its value. */

/** One item of 400 KB whose every byte is escaped as \u00XX would not fit, any sane one does, with room to spare. */
export const requestBodyBytesMax = 1024 * 1024;
/** Node's own default; ids travel in bodies, so nothing honest comes near it. */
export const requestHeaderBytesMax = 16 * 1024;
/** The longest path parameter that can be valid is a table name of 255 characters, each percent-encoded. */
export const pathParameterCharactersMax = 255 * 3;
/** Deep enough for any document we take, far from any parser's recursion limit. */
export const jsonDepthMax = 32;
/** A double keeps every decimal number of up to 15 significant digits; one of 16 may be changed by the parser. */
export const numberSignificantDigitsMax = 15;
/** The whole request must have arrived by then; a charge's body is 100 bytes. */
export const requestArrivalMsMax = 15_000;
/** Headers come in one packet from an honest client. */
export const headersArrivalMsMax = 10_000;
/** Longer than the idle time of common load balancers (60 s), so that they, not we, end an idle connection. */
export const keepAliveMs = 65_000;

/** DynamoDB's bound on a partition key is 2,048 bytes; half of it leaves room for a store's own prefix. */
export const itemIdBytesMax = 1_024;
/** DynamoDB's bound on an item, so that every table can move there. */
export const itemBytesMax = 400 * 1024;
/** Items of one page; whoever wants more takes the next page, or reads the table as a whole. */
export const pageItemsMax = 1_000;
/** A page ends behind the item that reaches it, as at DynamoDB: a page is made in memory. */
export const pageBytesMax = 1024 * 1024;
/** A reader that takes nothing for so long is cut off: its snapshot keeps old pages from being used again. */
export const readStallMsMax = 30_000;
/** Below this compressing an answer costs more than sending it. */
export const compressedBytesMin = 1024;
/** DynamoDB's bound on a table name. */
export const tableNameCharactersMax = 255;

/** Stripe's own bound on an amount: eight digits of the smallest unit. */
export const amountMax = 99_999_999;
export const tokenCharactersMax = 255;
/** Stripe's own bound on an idempotency key. */
export const idempotencyKeyCharactersMax = 255;
/** Stripe answers nearly all charges within 10 s; after that waiting helps nobody and the truth is looked up. */
export const processorCallMsMax = 30_000;
/** How often a process that drives charges tells that it lives. */
export const driverBeatMs = 1_000;
/** Silent for so long, it is taken for dead: five beats, so that a slow disk or a pause is no death. */
export const driverSilenceMsMax = 5_000;
/** When looking for a charge whose key the processor may have forgotten has come to nothing for so long, a person must look. */
export const chargeSoughtMsMax = 3 * 24 * 60 * 60 * 1_000;
/** Clocks are set right by seconds; one that says that a charge was made this long after now has been put back. */
export const clockStepMsMax = 5 * 60 * 1_000;
/** A look-up reads lists, of several pages. */
export const lookUpMsMax = 20_000;
/** How long a repeated request waits for the first one before it is told 409. */
export const idempotentWaitMsMax = 10_000;
/** How often the service looks for charges in doubt whose lease has ended. */
export const recoveryIntervalMs = 1_000;
/** The wait before a charge in doubt is asked about again: doubled each time, from the first to the last. */
export const recoveryDelayMsMin = 1_000;
export const recoveryDelayMsMax = 5 * 60 * 1_000;
/** Open charges that one process drives at once in recovery: enough to keep a processor and a disk busy. */
export const recoveryChargesMax = 128;

/** Stripe's own bounds on metadata. */
export const metadataKeysMax = 50;
export const metadataKeyCharactersMax = 40;
export const metadataValueCharactersMax = 500;
/** Refunds of one payment: they lie in its record. */
export const refundsPerPaymentMax = 100;
/** Ids of the processor's events that a payment remembers; a processor repeats an event for some days. */
export const eventsPerPaymentMax = 100;
/** Payments kept in memory for whoever asks again: with their records some megabytes. */
export const finalPaymentsKeptMax = 5_000;
/** Payments of one page. */
export const paymentsPageMax = 100;
/** Payments looked at for one page, of all routes: what is not found among them comes with the next page. */
export const paymentsScannedMax = 10_000;

export const integrationNameCharactersMax = 63;
/** Client ids and secrets of the four providers are under 256 characters; the bound leaves room. */
export const clientCredentialCharactersMax = 1_024;
export const issuerCharactersMax = 1_024;

/** API keys of a service, those that have ended among them: each process has all of them in memory. */
export const apiKeysMax = 1_000;
export const apiKeyNameCharactersMax = 100;
/** Tables, routes or origins that one key is limited to. */
export const apiKeyLimitsMax = 100;
/** What a process knows of the keys is never older when a request is judged by it: a revocation holds by then. */
export const apiKeysAgeMsMax = 1_000;
/** From this age on they are looked at anew, beside the requests, so that none has to wait for it. */
export const apiKeysRefreshMs = 500;
/** How often the last use of a key is written; an operator asks for the day. */
export const apiKeyUseNotedMs = 5 * 60 * 1_000;
/** How long the secret before holds after a rotation, unless it is said otherwise: a day to bring the new one around. */
export const apiKeyOverlapMsDefault = 24 * 60 * 60 * 1_000;
/** Longer than that, nobody is rotating. */
export const apiKeyOverlapMsMax = 30 * 24 * 60 * 60 * 1_000;

/** Charges a minute of one key, and from one address: one a second is a busy shop; who has more says so. */
export const chargesPerMinuteDefault = 60;
/** Declined charges a minute of one key, and from one address: cards are tested by the hundred, people mistype twice. */
export const declinesPerMinuteDefault = 10;
/** Requests a second of one key, and from one address: a fraction of what one process serves. */
export const requestsPerSecondDefault = 2_000;
/** Of the charges of a publishable key, an address may make this part: one browser must not use up a whole shop. */
export const browserChargesDivisor = 6;
/** Callers that a limit keeps count of: with their counts a megabyte or two. The longest silent one is forgotten. */
export const limitedCallersMax = 10_000;
/** How long a browser may keep the answer to a preflight; the browsers' own bounds are 2 and 24 hours. */
export const preflightSecondsMax = 600;
/** A year, as the preload list of the browsers asks for (RFC 6797, 6.1.1). */
export const strictTransportSeconds = 365 * 24 * 60 * 60;

/** Requests waiting for the store; at 40,000 commits a second this is a quarter of a second of work. */
export const commitQueueMax = 10_000;
/** Characters of their ids and values: with all copies of them a few hundred megabytes at worst. */
export const commitQueueSizeMax = 64 * 1024 * 1024;
/** Commits that share one flush: enough to make the flush cheap, few enough to keep the event loop free. */
export const commitBatchMax = 512;
/** Characters that one flush takes: some tens of milliseconds of writing. */
export const commitBatchSizeMax = 8 * 1024 * 1024;
/** DynamoDB takes 100 writes in one transaction. */
export const commitWritesMax = 100;
/** A flush that takes longer will not come to an end: the process makes one. */
export const flushMsMax = 15_000;
/** With less than this free the disk counts as full: a transaction must never meet its end. */
export const diskReserveBytes = 16 * 1024 * 1024;
/** Snapshots held at once by all threads of all processes: long reads, and one for each thread. */
export const snapshotsMax = 4_096;
/** A leaf and LMDB's header of 24 bytes fill whole pages; docs/decisions/leaf-store.md has the measurements. */
export const leafBytesMax = 8 * 1024 - 24;
/** Characters that the journal may hold before its changes go into the leaves: about 12,000 small ones. */
export const journalSizeMax = 1024 * 1024;
/** Characters folded per character committed: the journal shrinks while writing goes on. */
export const foldShare = 3;
/** Without a commit for so long, the journal is folded, in steps that hold up a commit for some milliseconds. */
export const foldIdleMs = 100;
export const foldStepSize = 32 * 1024;
/** What a stop spends on it: a full journal takes half as long. */
export const foldClosingMsMax = 2_000;
/** Spaces up to this are kept in memory as they were read, and answered in one piece. */
export const smallSpaceBytesMax = 32 * 1024;
/** So many of them: with their answers at most 16 MiB. */
export const smallSpacesKeptMax = 256;
/** Piece size in which a long answer is handed to the socket; a scan has one buffer of it. */
export const scanChunkBytes = 128 * 1024;
/** What one reader is given before others have their turn: a fraction of a millisecond. */
export const readTurnBytes = 512 * 1024;

/** A stop waits this long for running requests, then ends their connections: the exit comes within 10 s. */
export const stopGraceMs = 9_000;
/** When a worker that does not end is killed. */
export const stopMsMax = 9_900;

/** Processes of one service; more than any machine it makes sense on has cores. */
export const workersMax = 128;
/** The wait before a worker that could not start is tried again: doubled each time, from the first to the last. */
export const workerDelayMsMin = 100;
export const workerDelayMsMax = 10_000;

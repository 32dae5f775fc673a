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
/** The whole request must have arrived by then; a charge's body is 100 bytes. With the check for it, once a second, under 15 s. */
export const requestArrivalMsMax = 13_000;
/** Headers come in one packet from an honest client. */
export const headersArrivalMsMax = 10_000;
/** Longer than the idle time of common load balancers (60 s), so that they, not we, end an idle connection. */
export const keepAliveMs = 65_000;
/** How often late requests are looked for; it adds to the time that they have. */
export const connectionsCheckMs = 1_000;

/** Connections of one listener of one process: each takes some 10 KB; beyond it the longest idle one is ended for the new one. */
export const connectionsMax = 8_192;
/** When no more than this part is left, responses announce the end of their connection, so that none has to be ended unannounced. */
export const connectionsSparePart = 0.2;
/** Requests at once of one listener of one process: with a processor that takes 10 s, 400 charges a second. */
export const requestsRunningMax = 4_096;
/** Of one address, a quarter of what a listener has: no browser and no office comes near it, and three others are left room. */
export const connectionsPerAddressMax = connectionsMax / 4;
export const requestsPerAddressMax = requestsRunningMax / 4;
/** Shedding for so long is no burst: `/readyz` reports it, so that a load balancer sends requests elsewhere. */
export const sheddingMsMax = 30_000;
/** Requests sent on one connection before the first is answered: one connection must not have all of them. */
export const requestsPerConnectionMax = 128;
/** Requests dropped behind the last response of a connection, before it is reset: what one read of the socket may bring. */
export const requestsDroppedMax = 1_024;
/**
 * What one turn of the event loop spends on requests before it sheds; whoever is served has then waited about twice that at
 * most. A burst of some hundred requests that cost a millisecond each, as on a distant store, is no overload.
 */
export const loopTurnMsMax = 500;
/** A timer that is so late, twice in a row, tells that requests are not all that keeps the event loop busy. */
export const eventLoopDelayMsMax = 500;
/** How often it is looked at: twenty looks a second cost nothing measurable. */
export const eventLoopSampleMs = 50;
/** Rejected requests of one code and address are logged once in this time, with a count of the others. */
export const rejectionLoggedMs = 1_000;
/** Codes and addresses that the log counts at once. */
export const rejectionsCountedMax = 1_000;
/** Lines a second for rejected requests, of all addresses. */
export const rejectionLinesPerSecondMax = 100;

/** DynamoDB's bound on a partition key is 2,048 bytes; half of it leaves room for a store's own prefix. */
export const itemIdBytesMax = 1_024;
/** DynamoDB's bound on an item; there its last bytes are taken by what DynamoDB counts beside id and name. */
export const itemBytesMax = 400 * 1024;
/** Items of one page; whoever wants more takes the next page, or reads the table as a whole. */
export const pageItemsMax = 1_000;
/** A page ends behind the item that reaches it, as at DynamoDB: a page is made in memory. */
export const pageBytesMax = 1024 * 1024;
/**
 * A reader of any response that takes nothing for so long is cut off. The system keeps up to some megabytes for a reader, of
 * which the service sees the end alone: at 100 KB a second a reader never looks stalled.
 */
export const responseStallMsMax = 30_000;
/** Responses that no reader has taken, of all connections: beyond it new requests are shed. */
export const responseBytesWaitingMax = 256 * 1024 * 1024;
/** A body comes at once from an honest client; a mobile one may pause for some seconds. */
export const bodyGraceMs = 5_000;
/** Slower than any modem. A body must have arrived within `requestArrivalMsMax` anyway. */
export const bodyBytesPerSecondMin = 500;
/** Of a route that needs no key: sign-out and the token endpoint take some hundred bytes. */
export const keylessBodyBytesMax = 16 * 1024;
/** Of a signed event: processors' events are under 64 KiB. */
export const eventBodyBytesMax = 256 * 1024;
/** A charge with 50 metadata entries takes a tenth of it. */
export const chargeBodyBytesMax = 256 * 1024;
/** Bodies on their way on routes that strangers can send to, beyond `keylessBodyBytesMax` each: of all, and of one address. */
export const uploadBytesMax = 128 * 1024 * 1024;
export const uploadBytesPerAddressMax = 16 * 1024 * 1024;
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
/** A processor that is well answers within a second; whoever asks how it is waits at a terminal. */
export const processorCheckMsMax = 5_000;
/** A look-up may wait for its turn and read a list of many pages; each page has a time-out of its own. */
export const lookUpMsMax = 5 * 60_000;
/** An hour less than the time for which processors surely remember a key (`keyLifeMs`). */
export const chargeRetrySecondsMax = 22 * 60 * 60;
/** A caller who asks for a charge in doubt again moves its end on in steps, so that a poll is no write. */
export const wantedStepMs = 60_000;
/** A refund's first request is done or lost by then: its time-out, and as long again. */
export const refundArrivalMsMax = 2 * processorCallMsMax;
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
/** Refunds that moved nothing, kept for diagnosis and for a repeated request; the oldest are dropped. */
export const refundAttemptsKeptMax = 50;
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
/** Addresses that an app may be sent back to: staging, previews and a few origins; all lie in one record. */
export const returnUrlsMax = 50;
export const returnUrlCharactersMax = 1_024;
/** Scopes beyond these are for reading a provider's data, which the service never does. */
export const scopesMax = 20;
export const scopeCharactersMax = 255;
/** Integrations of one page of a list. */
export const integrationsPageMax = 100;

/** A provider that takes longer to answer has lost the person who waits. */
export const outboundMsMax = 5_000;
/** Discovery documents and key sets are a few KB; the largest known ones are under 100 KB. */
export const outboundAnswerBytesMax = 1024 * 1024;
/** What a provider says of itself changes by the month; an hour old is fresh enough. */
export const discoveryAgeMsMax = 60 * 60 * 1_000;
/** A provider that could not be asked is asked again soon; many who begin meanwhile make no further request. */
export const discoveryFailureMsMax = 5_000;
/** Of the documents of all providers together. */
export const providersKeptBytesMax = 16 * 1024 * 1024;
/** Its keys are told to be cached for hours, and withdrawn ones must go. */
export const providerKeysAgeMsMax = 10 * 60 * 1_000;
/** A key that is not known is looked for at once, but not more often: forged key ids must not make us a flood. */
export const providerKeysPauseMs = 5_000;
/** Providers remembered at once: with their keys some ten megabytes. */
export const providersKeptMax = 1_000;
/** A name, address or picture longer than this is none. */
export const profileClaimCharactersMax = 1_024;
/** Clocks of good providers are right to the second. */
export const clockToleranceSeconds = 30;

/** Long enough to find a password and a second factor, as the contract has it. */
export const signInMsMax = 10 * 60 * 1_000;
/** Sign-ins that one browser may have open, in as many tabs; each has a cookie. */
export const signInsPerBrowserMax = 10;
/** Of those cookies together: half of what all headers have. */
export const signInCookiesBytesMax = requestHeaderBytesMax / 2;
/** An authorization code is some hundred characters at the longest of the providers (Microsoft). */
export const callbackCharactersMax = 8 * 1024;
/** A sign-out does not wait longer for the provider to say where to sign out there. */
export const signOutUrlMsMax = 2_000;
/** An end of access that was begun so long ago, and is not complete, was begun by a process that has died. */
export const endingRecoveryMs = 60 * 1_000;
/** Users and sessions of one page, as most. */
export const peoplePageMax = 100;
/** How often states and logout tokens that have expired are removed. */
export const oneTimeIdSweepMs = 60 * 1_000;
/** Whoever is away longer signs in again. */
export const sessionIdleMsMax = 7 * 24 * 60 * 60 * 1_000;
/** Nobody stays signed in for ever. */
export const sessionMsMax = 30 * 24 * 60 * 60 * 1_000;
/** How exactly the service knows when a session was last used: a look-up costs a commit at most so often. */
export const sessionSeenStepMs = 5 * 60 * 1_000;
/** Sessions kept in memory for whoever asks again: with their answers some megabytes. */
export const sessionsKeptMax = 5_000;
/** How often sessions that have ended by themselves are removed; nothing depends on it but the disk. */
export const sessionSweepMs = 60 * 60 * 1_000;

/** RFC 6749, 4.1.2, recommends at most ten minutes for a code; an app exchanges it as soon as it is called. */
export const signInCodeMs = 60 * 1_000;
/** What a stolen access token is good for: nobody asks the service about one. */
export const accessTokenMs = 10 * 60 * 1_000;
/** After so long a person signs in again, however often the app has come. */
export const refreshTokenMsMax = 30 * 24 * 60 * 60 * 1_000;
/** An app that has not come for so long is not used. */
export const refreshTokenIdleMsMax = 7 * 24 * 60 * 60 * 1_000;
/** An app whose answer was lost sends the same refresh token again, within one time-out. */
export const refreshRepeatMsMax = 10 * 1_000;
/** How long one key signs access tokens. */
export const signingKeyMs = 30 * 24 * 60 * 60 * 1_000;
/** A key is published so long before it signs: longer than anybody caches the set of keys. */
export const signingKeyAnnouncedMs = 24 * 60 * 60 * 1_000;
/** A key is published so long after it has signed last: a token's life, and clocks that differ. */
export const signingKeyKeptMs = accessTokenMs + 5 * 60 * 1_000;
/** How long a process goes without asking the store which keys there are; a new one signs a day later. */
export const signingKeysCachedMs = 60 * 1_000;
/** How long apps may cache the set of keys. */
export const publishedKeysCachedSeconds = 60 * 60;
/** How often codes and refresh tokens that have expired are removed; they are refused all the same. */
export const tokenSweepIntervalMs = 10 * 60 * 1_000;

/** A program that gives the master key asks a service in the same network; the start waits for it. */
export const masterKeyCommandMsMax = 5_000;
/** A key that seals no more is kept so long: what was sealed under it before is on disk by then, or its process is dead. */
export const masterKeyOverlapMs = 4 * 15_000;
/** Items of one scan where the service goes through a space: a long one would keep old pages from being used again. */
export const scanPageItemsMax = 1_000;
/** Records rewrapped at once: they share a flush, and leave the store room for its callers. */
export const rewrapsAtOnceMax = 100;
/** Looks at all secrets that one rotation takes; when the last still finds one, a process goes on under an old key. */
export const rotationPassesMax = 10;

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
/** Declined cards an hour from one address: people mistype twice, and cards are tested by the hundred. */
export const declinesPerHourDefault = 5;
/** So many times as many in a day. */
export const declinesPerDayFactor = 4;
/** Of a network of IPv6 of 48 bits, so many times as many as of one address: several households, or one data centre. */
export const declinesOfNetworkFactor = 6;
/** Declined charges a minute of one key, from all addresses: it only slows down, for one buyer must not shut a shop. */
export const declinesOfKeyPerMinute = 60;
/** How old the counts of other processes may be on an engine that charges for each look. */
export const distantDeclinesCachedMs = 10_000;
/** How often addresses that may have cards declined again are forgotten. */
export const declinesSweepMs = 60 * 60 * 1_000;
/** A provider of challenges answers within a second; the buyer waits. */
export const challengeMsMax = 5_000;
/** Turnstile's bound is 2,048 characters. */
export const challengeTokenCharactersMax = 8_192;
/** Begun a minute from one address: more than an office or a school needs; the bound on open sign-ins would need hundreds of addresses. */
export const signInsPerMinuteDefault = 120;
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
/** Less than this free on the disk of the store is told to the operator: eight times what counts as full. */
export const diskLowBytes = 128 * 1024 * 1024;
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
/** Answers that are sent as they are read, at once: each has its buffer and snapshot, and the system keeps 2 MB of one that stalls. */
export const longAnswersMax = 256;
/** Of one address, so that one slow reader leaves room for others. */
export const longAnswersPerAddressMax = longAnswersMax / 4;
/** What one reader is given before others have their turn: a fraction of a millisecond. */
export const readTurnBytes = 512 * 1024;

/** Whoever asks whether the service is ready gives up after some seconds, and so must not hear first from a slow store. */
export const readyMsMax = 2_000;
/** A failed commit counts against being ready for so long, unless one succeeds: long enough for who asks every few seconds. */
export const commitFailureKeptMs = 10_000;
/** One delivery of spans to a collector; what does not arrive is dropped. */
export const tracesExportMsMax = 5_000;
/** What a stop spends on the last spans: they are worth less than an exit in time. */
export const tracesFlushMsMax = 500;
/** A stop waits this long for running requests, then ends their connections: the exit comes within 10 s. */
export const stopGraceMs = 9_000;
/** When a worker that does not end is killed. */
export const stopMsMax = 9_900;

/** What closing the store has at least, also when the requests have taken all of the time. */
export const storeCloseMsMin = 700;

/** Processes of one service; more than any machine it makes sense on has cores. */
export const workersMax = 128;
/** What a scrape of one waits for the others: Prometheus gives up after 10 s, and counting up takes a millisecond. */
export const workerTellMsMax = 1_000;
/** The wait before a worker that could not start is tried again: doubled each time, from the first to the last. */
export const workerDelayMsMin = 100;
export const workerDelayMsMax = 10_000;

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
/** Recovery looks for open charges this often on an engine that charges for each look. */
export const distantRecoveryIntervalMs = 5_000;

/** Items of one commit of a copying; the hundredth write is the marker of its progress. */
export const copyItemsMax = commitWritesMax - 1;
/** Bytes of their ids and values, beyond which a commit takes no further item: a slow line still sends it in one attempt. */
export const copyCommitBytesMax = 512 * 1024;
/** Commits of a copying at once: docs/decisions/moving-stores.md has the measurements. */
export const copyCommitsMax = 4;
/** How long a copying goes on asking a store that is at its limit: DynamoDB doubles what it takes within minutes. */
export const copyPatienceMsMax = 5 * 60 * 1_000;
/** The pause between such attempts; the engine has made longer ones of its own before. */
export const copyPauseMs = 250;

/** Limits of access. Each name ends with its unit; each comment gives the reason for the value. */

/** API keys of a service, including those that have ended: each process caches all of them. */
export const apiKeysMax = 1_000;
/**
 * Keys that one holder has, those that have ended and those that its keys have made included: a quarter, so that three that are stolen
 * leave room for others.
 */
export const apiKeysOfHolderMax = 250;
/** Keys that one commit revokes, each with its audit entry: a transaction has at most 100 writes. */
export const keysRevokedAtOnce = 40;
/** Recorded creators of a key: a longer chain is one of successors, each made by the one before. */
export const apiKeyCreatorsMax = 16;
export const apiKeyNameCharactersMax = 100;
/** Tables, routes or origins that one key can be limited to. */
export const apiKeyLimitsMax = 100;
/** Characters of such a route or origin: a DNS name has up to 253, beside the scheme and the port. */
export const apiKeyLimitCharactersMax = 300;
/** The default time that the previous secret stays valid after a rotation: a day to deploy the new one. */
export const apiKeyOverlapMsDefault = 24 * 60 * 60 * 1_000;
/** A longer overlap is not a rotation. */
export const apiKeyOverlapMsMax = 30 * 24 * 60 * 60 * 1_000;
/** Administrators of the console: more people than run any service. Two that are added at once may exceed it by one. */
export const administratorsMax = 1_000;
export const administratorNameCharactersMax = 100;
/** As of an integration. */
export const issuerCharactersMax = 1_024;
/** Maximum age of the cached keys when a request is authorized: a revocation is effective after this time. */
export const apiKeysAgeMsMax = 1_000;
/** From this age on the cached keys are refreshed in the background, so that no request waits for it. */
export const apiKeysRefreshMs = 500;
/** How often the last use of a key is written; operators need it to the day. */
export const apiKeyUseNotedMs = 5 * 60 * 1_000;
/** Charges per minute of one key, and from one address. One per second is a busy shop; a busier one sets its own limit. */
export const chargesPerMinuteDefault = 60;
/**
 * Cards per hour from one address that are declined, or whose challenge has not succeeded: people mistype twice, thieves test
 * hundreds of cards. Regained evenly, so twice as many in the first hour. Open challenges have no larger bound of their own: it
 * would be what a thief learns.
 */
export const declinesPerHourDefault = 5;
/** The limit per day, as a multiple of the limit per hour. */
export const declinesPerDayFactor = 4;
/** The limit of an IPv6 /48 network, as a multiple of the limit of one address: it is several households or one data centre. */
export const declinesOfNetworkFactor = 6;
/** Declined charges per minute of one key, from all addresses: it only slows down, as one buyer must not block a shop. */
export const declinesOfKeyPerMinute = 60;
/** A challenge provider usually responds within a second; the buyer waits for it. */
export const challengeMsMax = 5_000;
/** The limit of Turnstile is 2,048 characters. */
export const challengeTokenCharactersMax = 8_192;
/** Sign-ins per minute from one address: more than an office or a school needs. */
export const signInsPerMinuteDefault = 120;
/** Sign-ins to the console per minute from one address, with right and wrong keys: nobody types keys faster. */
export const consoleSignInsPerMinute = 10;
/** A working day. Nothing shortens it: an open page asks for news all the time, so that it is never idle. */
export const consoleSessionMsMax = 8 * 60 * 60 * 1_000;
/** Requests per second of one key, and from one address: a fraction of the throughput of one process. */
export const requestsPerSecondDefault = 2_000;
/** One address may make this part of the charges of a publishable key: one browser must not use up the limit of a shop. */
export const browserChargesDivisor = 6;
/** Callers that a limit counts, in one or two megabytes. Beyond it the least recently seen caller is dropped. */
export const limitedCallersMax = 10_000;
/** The first stretch of time in which the newest acts are sought: a working session of an administrator. */
export const auditFirstStretchMs = 60 * 60 * 1_000;
/** The next stretch is this much longer: ten years of silence take ten steps. */
export const auditStretchFactor = 4;
/** Acts of a stretch that are read, some 200 KB; a stretch with more of them is made shorter. */
export const auditStretchActsMax = 1_000;

/** Bounds of access: each with its unit at the end of its name, and the reason for its value. */

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
/** A provider of challenges answers within a second; the buyer waits. */
export const challengeMsMax = 5_000;
/** Turnstile's bound is 2,048 characters. */
export const challengeTokenCharactersMax = 8_192;
/** Sign-ins that one address begins in a minute: more than an office or a school needs. */
export const signInsPerMinuteDefault = 120;
/** Requests a second of one key, and from one address: a fraction of what one process serves. */
export const requestsPerSecondDefault = 2_000;
/** Of the charges of a publishable key, an address may make this part: one browser must not use up a whole shop. */
export const browserChargesDivisor = 6;
/** Callers that a limit keeps count of: with their counts a megabyte or two. The longest silent one is forgotten. */
export const limitedCallersMax = 10_000;

/** Bounds of http: each with its unit at the end of its name, and the reason for its value. */

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
/** Sign-ins that one browser may have open, in as many tabs; each has a cookie. */
export const signInsPerBrowserMax = 10;
/** Of those cookies together: half of what all headers have. */
export const signInCookiesBytesMax = requestHeaderBytesMax / 2;
/** How long apps may cache the set of keys. */
export const publishedKeysCachedSeconds = 60 * 60;
/** How long a browser may keep the answer to a preflight; the browsers' own bounds are 2 and 24 hours. */
export const preflightSecondsMax = 600;
/** A year, as the preload list of the browsers asks for (RFC 6797, 6.1.1). */
export const strictTransportSeconds = 365 * 24 * 60 * 60;
/** Answers that are sent as they are read, at once: each has its buffer and snapshot, and the system keeps 2 MB of one that stalls. */
export const longResponsesMax = 256;
/** Of one address, so that one slow reader leaves room for others. */
export const longResponsesPerAddressMax = longResponsesMax / 4;
/** What one reader is given before others have their turn: a fraction of a millisecond. */
export const readTurnBytes = 512 * 1024;

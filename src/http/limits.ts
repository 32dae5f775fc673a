/** Limits of http. Each name ends with its unit; each comment gives the reason for the value. */

/** Any usual item of 400 KB fits with room to spare; one with every byte escaped as \u00XX does not. */
export const requestBodyBytesMax = 1024 * 1024;
/** The default of Node.js. Ids are in bodies, so that no usual request comes near it. */
export const requestHeaderBytesMax = 16 * 1024;
/** The longest path parameter that can be valid is a table name of 255 characters, each percent-encoded. */
export const pathParameterCharactersMax = 255 * 3;
/** Time for the whole request to arrive; a charge has 100 bytes. With the check once a second it is less than 15 s. */
export const requestArrivalMsMax = 13_000;
/** A usual client sends its headers in one packet. */
export const headersArrivalMsMax = 10_000;
/** A reader that leaves a whole response to the system looks idle: its connection ends within 40 s, as a stalled one does. */
export const keepAliveMs = 38_000;
/** For trusted proxies: longer than the idle timeout of common load balancers (60 s), so that they close first. */
export const proxyKeepAliveMs = 65_000;
/** How often Node.js checks for late requests; it adds to the time that they have. */
export const connectionsCheckMs = 1_000;
/** Connections of one listener of one process, some 10 KB each. Beyond it the longest idle one is closed for the new one. */
export const connectionsMax = 8_192;
/** When only this part is left, responses send `Connection: close`, so that no connection has to be closed unannounced. */
export const connectionsSparePart = 0.2;
/** Concurrent requests of one listener of one process: with a processor that takes 10 s, 400 charges per second. */
export const requestsRunningMax = 4_096;
/** A quarter of the listener's limit for one address: no browser or office comes near it, and there is room for others. */
export const connectionsPerAddressMax = connectionsMax / 4;
export const requestsPerAddressMax = requestsRunningMax / 4;
/** Load shedding for longer is not a burst: `/readyz` reports it, so that a load balancer sends requests elsewhere. */
export const sheddingMsMax = 30_000;
/** Pipelined requests of one connection, so that one connection cannot use up the limit of all. */
export const requestsPerConnectionMax = 128;
/** Requests dropped behind the last response of a connection before it is reset: one socket read may contain so many. */
export const requestsDroppedMax = 1_024;
/**
 * Time that one turn of the event loop spends on requests; the rest wait for the next turn. Node.js accepts one connection per
 * turn, so a turn must be short; each also costs some ten microseconds, so it must not be shorter than many small requests.
 */
export const turnMsMax = 10;
/**
 * While connections arrive, each address is served once in this time. A thousand connections are accepted in it, and it is well
 * below what a caller notices.
 */
export const acceptFirstMsMax = 100;
/**
 * Connections that the system keeps until they are accepted; Linux allows 4,096 by default. Beyond it, it drops the attempts of
 * clients, which repeat them after one, three and seven seconds. Node.js asks for 511.
 */
export const connectionsQueuedMax = 4_096;
/** Before a listener stops, it accepts what the system holds: thousands of connections, and a small part of the grace period. */
export const stopAcceptMsMax = 1_000;
/** Work on a body of this size takes about as long as the rest of a small request: it waits for its turn. */
export const queuedBodyBytesMin = 16 * 1024;
/**
 * Time that a request may have waited when its turn comes: after it, the request is shed. A burst of some hundred requests of a
 * millisecond each, as on a distant store, is not an overload.
 */
export const requestWaitMsMax = 500;
/** A timer that is this late twice in a row shows that other work than requests keeps the event loop busy. */
export const eventLoopDelayMsMax = 500;
/** How often the delay is sampled: twenty samples per second have no measurable cost. */
export const eventLoopSampleMs = 50;
/** Rejected requests with the same code and address are logged once in this time, with a count of the others. */
export const rejectionLoggedMs = 1_000;
/** Pairs of code and address that the log counts at once. */
export const rejectionsCountedMax = 1_000;
/** Log lines per second for rejected requests, of all addresses. */
export const rejectionLinesPerSecondMax = 100;
/**
 * A connection is closed if its reader reads nothing of a response for this long. The system buffers up to some megabytes for a
 * reader, whose progress shows in its send queue: at 20 KB per second a reader never looks stalled.
 */
export const responseStallMsMax = 30_000;
/** In this time, so often the system is asked how much of a response that seems to stall is unacknowledged. */
export const sendQueueLooksPerStall = 10;
/** Unread response bytes of all connections: beyond it new requests are shed. */
export const responseBytesWaitingMax = 256 * 1024 * 1024;
/** A usual client sends its body at once; a mobile one may pause for some seconds. */
export const bodyGraceMs = 5_000;
/** Slower than any modem. In any case a body must arrive within `requestArrivalMsMax`. */
export const bodyBytesPerSecondMin = 500;
/** Body of a route that needs no key: sign-out and the token endpoint accept some hundred bytes. */
export const keylessBodyBytesMax = 16 * 1024;
/** Body of a signed event: the events of processors have less than 64 KiB. */
export const eventBodyBytesMax = 256 * 1024;
/** A charge with 50 metadata entries has a tenth of it. */
export const chargeBodyBytesMax = 256 * 1024;
/** Unfinished bodies of more than `keylessBodyBytesMax` on routes that need no secret key: of all callers, and of one address. */
export const uploadBytesMax = 64 * 1024 * 1024;
export const uploadBytesPerAddressMax = 8 * 1024 * 1024;
/** Compressing a smaller response costs more than sending it. */
export const compressedBytesMin = 1024;
/** The state of an app in a sign-in link. It lies in a cookie; random 256 bits take 43 characters. */
export const appStateCharactersMax = 200;
/** Sign-ins that one browser may have open, in as many tabs; each has its cookie. */
export const signInsPerBrowserMax = 10;
/** All of these cookies together: half of the limit for all headers. */
export const signInCookiesBytesMax = requestHeaderBytesMax / 2;
/** How long apps may cache the JWK set. */
export const publishedKeysCachedSeconds = 60 * 60;
/** How long a browser may cache a preflight response; browsers allow 2 or 24 hours at most. */
export const preflightSecondsMax = 600;
/** A browser keeps an asset of the console for a year: another content has another name. */
export const consoleAssetSeconds = 365 * 24 * 60 * 60;
/** The pause after the console could not be built, which anybody may ask for. */
export const consoleRetryMs = 30_000;
/** A year, as the preload list of the browsers requires (RFC 6797, 6.1.1). */
export const strictTransportSeconds = 365 * 24 * 60 * 60;
/** Concurrent streamed responses: each has a buffer and a snapshot, and the system buffers 2 MB of a stalled one. */
export const longResponsesMax = 256;
/** Streamed responses to one address, so that one slow reader leaves room for others. */
export const longResponsesPerAddressMax = longResponsesMax / 4;
/** Bytes that one reader gets before it is another's turn: a fraction of a millisecond. */
export const readTurnBytes = 512 * 1024;
/** Charge requests that are recognized when they are repeated byte for byte, and the bytes of all of them. */
export const exactRepeatsCachedMax = 10_000;
export const exactRepeatsCachedBytesMax = 8 * 1024 * 1024;
/** A usual charge request has some hundred bytes. */
export const exactRepeatBodyBytesMax = 4 * 1024;
/** The longest silence within a response of lines: proxies take a connection for dead after 30 to 60 s of it. */
export const lineBeatMs = 5_000;

/** Limits of access. Each name ends with its unit; each comment gives the reason for the value. */

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
/** Callers that a limit counts, in one or two megabytes. Beyond it the least recently seen caller is dropped. */
export const limitedCallersMax = 10_000;

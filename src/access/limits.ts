/** Limits of access. Each name ends with its unit; each comment gives the reason for the value. */

/** Callers that a limit counts, in one or two megabytes. Beyond it the least recently seen caller is dropped. */
export const limitedCallersMax = 10_000;

/** Bounds of cli: each with its unit at the end of its name, and the reason for its value. */

/** How long the secret before holds after a rotation, unless it is said otherwise: a day to bring the new one around. */
export const apiKeyOverlapMsDefault = 24 * 60 * 60 * 1_000;
/** Longer than that, nobody is rotating. */
export const apiKeyOverlapMsMax = 30 * 24 * 60 * 60 * 1_000;
/** Processes of one service; more than any machine it makes sense on has cores. */
export const workersMax = 128;
/** What a scrape of one waits for the others: Prometheus gives up after 10 s, and counting up takes a millisecond. */
export const workerTellMsMax = 1_000;
/** The wait before a worker that could not start is tried again: doubled each time, from the first to the last. */
export const workerDelayMsMin = 100;
export const workerDelayMsMax = 10_000;

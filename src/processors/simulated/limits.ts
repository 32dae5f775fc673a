/** Limits of the simulated processor. Each name ends with its unit; each comment gives the reason for the value. */

/** Longer than the time-out of any caller. */
export const callMsMax = 60_000;
/** Read from the file of the ledger in one turn of the event loop: some 1,000 charges, which take some milliseconds. */
export const ledgerChunkBytes = 256 * 1024;

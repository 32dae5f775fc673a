/** Limits of the command line. Each name ends with its unit; each comment gives the reason for the value. */

/** The default time that the previous secret stays valid after a rotation: a day to deploy the new one. */
export const apiKeyOverlapMsDefault = 24 * 60 * 60 * 1_000;
/** A longer overlap is not a rotation. */
export const apiKeyOverlapMsMax = 30 * 24 * 60 * 60 * 1_000;
/** Processes of one service: more than the cores of any suitable machine. */
export const workersMax = 128;
/** How long a scrape waits for the other workers: Prometheus gives up after 10 s, and a snapshot takes a millisecond. */
export const workerReportMsMax = 1_000;
/** The delay before a failed worker is started again: doubled each time, from the minimum to the maximum. */
export const workerDelayMsMin = 100;
export const workerDelayMsMax = 10_000;
/** Rows that a table measures before it prints the first: more would delay it, fewer would misalign usual listings. */
export const tableRowsMeasuredMax = 500;
/** Payments that `payments list` prints without `--limit`: a few screens. */
export const paymentsListedDefault = 100;
/** The period that `payments list` and `payments reconcile` cover by default: what happened since this time yesterday. */
export const paymentsPeriodMsDefault = 24 * 60 * 60 * 1_000;
/** Bytes of a line of an imported file: an item of 400 KB in which every byte is written as six characters. */
export const importedLineBytesMax = 4 * 1024 * 1024;
/** How long before its backup a restored store looks for refunds of charges that it knows: most are made in this time. */
export const adoptedBeforeMsDefault = 90 * 24 * 60 * 60 * 1_000;
/** A payment gets its id this long before its reservation at most: it may be older than a snapshot that lacks it. */
export const reservationMsMax = 60 * 1_000;
/** A scheduled backup that is later than this is missing: one of a large store takes minutes. */
export const backupLateMs = 60 * 60 * 1_000;

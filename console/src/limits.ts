/** Limits of the console. Each name ends with its unit; each comment gives the reason for the value. */

/** How often new payments are requested. A charge then appears within a second, with time left for the request. */
export const newsMs = 300;
/** How often open payments are read again. */
export const openPaymentsMs = 2_000;
/** How often the health and the metrics are read. */
export const metricsMs = 2_000;
/** How often the backups are read. Each time, the service lists the target. */
export const backupsMs = 5_000;
/**
 * How long the findings of the doctor are shown before they are requested again. Each time, the service calls the
 * processors.
 */
export const doctorMs = 60_000;
/** Samples of a plot: ten minutes. */
export const samplesMax = 300;
/** Payments that one search for older payments adds: some screens. */
export const paymentsPerLook = 50;
/** Payments in one window of time. If there are more, the window is shortened. */
export const paymentsPerWindowMax = 500;
/** The length of the first window, and of the shortest one. */
export const firstWindowMs = 10 * 60 * 1_000;
export const shortestWindowMs = 1_000;
/**
 * How many searches follow each other while a filter matches too few payments, before the reader decides whether to
 * continue.
 */
export const looksInARowMax = 20;
/**
 * New payments are read from this long before the newest known one, because the clocks of several processes may differ.
 */
export const clockDifferenceMs = 2_000;
/** Payments on one page; the service allows no more. */
export const paymentsPerPage = 100;
/** Acts on one page of the audit trail; the service allows no more. */
export const actsPerPage = 100;
/** Items on one page; the service allows no more. */
export const itemsPerPage = 1_000;
/** Items that an export processes before the page may do something else: some milliseconds. */
export const itemsPerPiece = 5_000;
/** Items in a batch, and their bytes as JSON. The service accepts a body of at most 1 MiB. */
export const batchItemsMax = 100;
export const batchBytesMax = 900_000;
/** The height of a row. */
export const rowPx = 32;
/** Rows in a list. With `rowPx`, it is nearly as high as an element can be in a browser (33,554,428 px in Chromium). */
export const rowsMax = 1_000_000;
/** Pages of items that are kept. A page that is further away is read again when the reader scrolls to it. */
export const pagesKeptMax = 40;
/** Rows below the last visible one that are already loaded. */
export const rowsAhead = 2_000;
/** People on one page; the service allows no more. */
export const peoplePerPage = 100;
/** People below the last visible one that are already loaded: only some screens, because each page is a request. */
export const peopleAhead = 200;
/** How long a deletion of several items can be undone: enough time to read the bar and to reach it by keyboard. */
export const undoMs = 10_000;
/** Items that can be selected at once: ten batches, which are deleted in some seconds. */
export const selectedItemsMax = 1_000;
/**
 * How often a batch is tried while others create the same items. The first attempt finds the items that the table had
 * before.
 */
export const createAttemptsMax = 4;
/** How often a batch is tried while others delete the same items. */
export const deleteAttemptsMax = 3;
/**
 * Characters of the address of the view that appears again after a sign-in. The service accepts no longer return
 * address.
 */
export const viewCharactersMax = 500;

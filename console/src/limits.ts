/** Limits of the console. Each name ends with its unit; each comment gives the reason for the value. */

/** How often new payments are asked for: a charge is seen within a second, with time left for the request. */
export const newsMs = 300;
/** How often the payments that are not finished are read again. */
export const openPaymentsMs = 2_000;
/** How often the health and the metrics are read. */
export const metricsMs = 2_000;
/** How often the backups are read: each time costs a listing of the target. */
export const backupsMs = 5_000;
/** How long the findings of the doctor are shown before the view asks again: each time calls the processors. */
export const doctorMs = 60_000;
/** Samples of a plot: ten minutes. */
export const samplesMax = 300;
/** Payments that one look back in time adds: some screens. */
export const paymentsPerLook = 50;
/** Payments of one window of time; a fuller window is made shorter. */
export const paymentsPerWindowMax = 500;
/** The first window that is looked at, and the shortest. */
export const firstWindowMs = 10 * 60 * 1_000;
export const shortestWindowMs = 1_000;
/** Looks back in a row, while a filter matches too little, before the reader is asked whether to go on. */
export const looksInARowMax = 20;
/** News are read again from this long before the newest payment: the clocks of several processes may differ. */
export const clockDifferenceMs = 2_000;
/** Payments of a page of the interface, which allows no more. */
export const paymentsPerPage = 100;
/** Acts of a page of the audit trail; the interface allows no more. */
export const actsPerPage = 100;
/** Items of a page of the interface, which allows no more. */
export const itemsPerPage = 1_000;
/** Items that an export takes before the page may do something else: some milliseconds. */
export const itemsPerPiece = 5_000;
/** Items of a batch, and their bytes as JSON: the interface accepts no more than a body of 1 MiB. */
export const batchItemsMax = 100;
export const batchBytesMax = 900_000;
/** The height of a row. */
export const rowPx = 32;
/** Rows of a list: at `rowPx` it is nearly as high as browsers make an element (33,554,428 px in Chromium). */
export const rowsMax = 1_000_000;
/** Pages of items that are kept; one that is further away is read again when it is scrolled to. */
export const pagesKeptMax = 40;
/** Rows below the last visible one that are already loaded. */
export const rowsAhead = 2_000;
/** People of a page of the interface, which allows no more. */
export const peoplePerPage = 100;
/** People below the last visible one that are already loaded: some screens, as each page is a request. */
export const peopleAhead = 200;
/** How long a deletion of several items can be taken back: time to read the bar and to reach it by keyboard. */
export const undoMs = 10_000;
/** Items that can be chosen at once: ten batches, which are deleted in some seconds. */
export const selectedItemsMax = 1_000;
/** How often a batch is tried while others create items of it: the first one finds what the table had before. */
export const createAttemptsMax = 4;
/** How often a batch is tried while others delete items of it. */
export const deleteAttemptsMax = 3;
/** Of the view that is shown again after a sign-in: the service accepts no longer address to return to. */
export const viewCharactersMax = 500;

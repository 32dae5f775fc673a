/** Limits of the command line. Each name ends with its unit; each comment gives the reason for the value. */

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
/** Bytes of a line of an imported file: an item of 400 KB in which every byte is written as six characters. */
export const importedLineBytesMax = 4 * 1024 * 1024;
/** Batches that an import writes to the store at once: they share flushes, and the writer never waits for the next ones. */
export const storeBatchesAtOnce = 64;
/** Batches that an import sends to a service at once: enough to share its flushes, few enough to leave it to others. */
export const serviceBatchesAtOnce = 8;
/** How long a command repeats a request to a service that does not respond: a restart, or a deployment. */
export const servicePatienceMs = 120_000;
/** The delay before it is repeated: doubled each time, from the minimum to the maximum. */
export const serviceWaitMsMin = 250;
export const serviceWaitMsMax = 5_000;
/** How often a progress bar is drawn. */
export const progressMs = 100;
/** Bytes of the items of one batch: a service accepts bodies of 1 MiB. */
export const importedBatchBytesMax = 1_000_000;
/** Bytes of all batches that are being written: large items must not fill the memory. */
export const importedBytesAtOnceMax = 8 * 1024 * 1024;
/** Items of a page in which an import looks for the items of a batch: twice as many, for those in between. */
export const pageItems = 200;
/** Bytes of rows that an import sorts in the memory; more rows go to a temporary file, in pieces of this size. */
export const sortedBytesMax = 24 * 1024 * 1024;
/** What a row takes in the memory beside its strings. */
export const sortedRowBytes = 150;
/**
 * What V8 may keep before it collects, in a command on tables. An import of 1,000,000 items takes 35 to 60 MB more than one of a
 * tenth with these values, and 110 to 180 MB with V8's own; half as much costs a third more of the processor.
 */
export const youngObjectsMegabytes = 8;
export const heapGrowthPercent = 60;

/** How often a serving process looks whether it is idle. */
export const idleLookMs = 2_000;
/** The share of that time that an idle process may be busy: recovery looks at the store every second. */
export const idleShareMax = 0.02;
/** What a collection has to be worth, in bytes that the heap has grown by since the last one: few requests an hour cause none. */
export const idleGrowthBytesMin = 16 * 1024 * 1024;

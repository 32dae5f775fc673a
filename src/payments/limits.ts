/** Bounds of payments: each with its unit at the end of its name, and the reason for its value. */

/** Stripe's own bound on an amount: eight digits of the smallest unit. */
export const amountMax = 99_999_999;
export const tokenCharactersMax = 255;
/** Stripe's own bound on an idempotency key. */
export const idempotencyKeyCharactersMax = 255;
/** Stripe answers nearly all charges within 10 s; after that waiting helps nobody and the truth is looked up. */
export const processorCallMsMax = 30_000;
/** How often a process that drives charges tells that it lives. */
export const heartbeatMs = 1_000;
/** Silent for so long, it is taken for dead: five beats, so that a slow disk or a pause is no death. */
export const ownerSilenceMsMax = 5_000;
/** When looking for a charge whose key the processor may have forgotten has come to nothing for so long, a person must look. */
export const chargeSoughtMsMax = 3 * 24 * 60 * 60 * 1_000;
/** Clocks are set right by seconds; one that says that a charge was made this long after now has been put back. */
export const clockStepMsMax = 5 * 60 * 1_000;
/** A processor that is well answers within a second; whoever asks how it is waits at a terminal. */
export const processorCheckMsMax = 5_000;
/** A look-up may wait for its turn and read a list of many pages; each page has a time-out of its own. */
export const lookUpMsMax = 5 * 60_000;
/** A caller who asks for a charge in doubt again moves its end on in steps, so that a poll is no write. */
export const wantedStepMs = 60_000;
/** A refund's first request is done or lost by then: its time-out, and as long again. */
export const refundArrivalMsMax = 2 * processorCallMsMax;
/** How long a repeated request waits for the first one before it is told 409. */
export const idempotentWaitMsMax = 10_000;
/** The wait before a charge in doubt is asked about again: doubled each time, from the first to the last. */
export const recoveryDelayMsMin = 1_000;
export const recoveryDelayMsMax = 5 * 60 * 1_000;
/** Open charges that one process drives at once in recovery: enough to keep a processor and a disk busy. */
export const recoveryChargesMax = 128;
/** Stripe's own bounds on metadata. */
export const metadataKeysMax = 50;
export const metadataKeyCharactersMax = 40;
export const metadataValueCharactersMax = 500;
/** Refunds of one payment: they lie in its record. */
export const refundsPerPaymentMax = 100;
/** Refunds that moved nothing, kept for diagnosis and for a repeated request; the oldest are dropped. */
export const refundAttemptsKeptMax = 50;
/** Ids of the processor's events that a payment remembers; a processor repeats an event for some days. */
export const eventsPerPaymentMax = 100;
/** Payments kept in memory for whoever asks again: with their records some megabytes. */
export const replayCacheMax = 5_000;
/** Payments of one page. */
export const paymentsPageMax = 100;
/** Payments looked at for one page, of all routes: what is not found among them comes with the next page. */
export const paymentsScannedMax = 10_000;

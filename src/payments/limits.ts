/** Limits of payments. Each name ends with its unit; each comment gives the reason for the value. */

/** Stripe's limit on an amount: eight digits of the smallest unit. */
export const amountMax = 99_999_999;
/** Pieces of one payment with a price from a table: a higher number is a mistake, or needs a separate route. */
export const quantityMax = 10_000;
/** An item's invalid price is logged once in this time, so that buyers who try it cannot flood the log. */
export const invalidPriceLoggedMs = 60_000;
/** Prices that each process caches, of the items that were bought last: some hundred kilobytes. */
export const pricesRememberedMax = 1_000;
/** Items whose invalid price is remembered as logged. */
export const invalidPricesLoggedMax = 1_000;
export const tokenCharactersMax = 255;
/** Stripe's limit on an idempotency key. */
export const idempotencyKeyCharactersMax = 255;
/** Stripe replies to nearly all charges within 10 s; after a longer wait the outcome is looked up. */
export const processorCallMsMax = 30_000;
/** How often a process that owns charges writes its heartbeat. */
export const heartbeatMs = 1_000;
/** After this silence an owner counts as dead: five beats, so that a slow disk or a pause does not count. */
export const ownerSilenceMsMax = 5_000;
/** After failed look-ups for this long past the life of its key, a charge needs review by a person. */
export const chargeSoughtMsMax = 3 * 24 * 60 * 60 * 1_000;
/** Clocks are corrected by seconds; if a charge was made this long after now, the clock moved backwards. */
export const clockStepMsMax = 5 * 60 * 1_000;
/** A healthy processor replies within a second, and a person waits at a terminal for this check. */
export const processorCheckMsMax = 5_000;
/** A look-up may wait for its turn and read a list of many pages; each page has a separate time-out. */
export const lookUpMsMax = 5 * 60_000;
/** Repeated requests extend `retryUntil` in steps of this length, so that most polls write nothing. */
export const retryStepMs = 60_000;
/**
 * How long the cancellation of a declined attempt may take while its buyer waits. If it takes longer, recovery cancels
 * again.
 */
export const closeDeclineMsMax = 10_000;
/** After this time a refund's first request is done or lost: twice its time-out. */
export const refundArrivalMsMax = 2 * processorCallMsMax;
/** `Retry-After` of a response whose outcome is unknown: most are known after one round of recovery. */
export const unknownRetryAfterSeconds = 2;
/** How long a repeated request waits for the first one before the response is 409. */
export const idempotentWaitMsMax = 10_000;
/** The wait before a charge in doubt is retried; it doubles from the minimum to the maximum. */
export const recoveryDelayMsMin = 1_000;
export const recoveryDelayMsMax = 5 * 60 * 1_000;
/**
 * The longest such wait of a charge that holds an item, because other buyers want the item. With one round of recovery
 * and the calls, the hold ends within `holdEndMsMax`.
 */
export const recoveryDelayOfHoldMsMax = 6_000;
/** At the latest, a hold ends this long after its deadline, or after the processor responds again. */
export const holdEndMsMax = 10_000;
/** Charges that one process recovers at once: enough to keep a processor and a disk busy. */
export const recoveryChargesMax = 128;
/** Banks often take several seconds. A slower look-up is abandoned for its caller, and the next one has the result. */
export const authenticationLookUpMsMax = 5_000;
/** A page that polls sees current data, and the processor gets about one call a second for each payment. */
export const authenticationLookUpPauseMs = 1_000;
/**
 * How often a process checks whether another one has finished its look-up: a small part of the time that a call takes.
 */
export const authenticationPollMs = 25;
/** Concurrent look-ups for callers. They share the processor's rate with recovery, which must not wait for minutes. */
export const authenticationLookUpsMax = 16;
/** Payments whose last look-up is remembered; each has some hundred bytes. */
export const authenticationsPacedMax = 10_000;
/**
 * Skipping four attempts makes recovery wait 16 s for the first look-up. A cardholder needs about that long, and their
 * return triggers a look-up anyway.
 */
export const authenticationAttemptsSkipped = 4;
/** Stripe's limit on a URL. */
export const returnUrlCharactersMax = 2_048;
/** Stripe's limits on metadata. It allows 50 keys, and one of them is the payment id. */
export const metadataKeysMax = 49;
export const metadataKeyCharactersMax = 40;
export const metadataValueCharactersMax = 500;
/** Square's limit on a note; Stripe's limit on a description is 1,000. */
export const descriptionCharactersMax = 500;
/** Stripe's limit on the whole statement descriptor; the account's prefix takes a part of it. */
export const statementDescriptorSuffixCharactersMax = 22;
/** The limits of RFC 5321, 4.5.3.1; together within the 255 of Square. */
export const emailLocalPartCharactersMax = 64;
export const emailDomainCharactersMax = 189;
/** Refunds of one payment; its record holds them all. */
export const refundsPerPaymentMax = 100;
/** Refunds without money moved, stored for diagnosis and for repeated requests; the oldest are dropped. */
export const refundAttemptsStoredMax = 50;
/** Event ids that a payment stores; a processor repeats an event for some days. */
export const eventsPerPaymentMax = 100;
/** Payments cached for repeated requests: some megabytes with their records. */
export const replayCacheMax = 5_000;
/** Payments of one page. */
export const paymentsPageMax = 100;
/** Payments of all routes read for one page; the next page continues after them. */
export const paymentsScannedMax = 10_000;

/**
 * After a restore, records are read from this long before the backup, to find refunds of charges that the store has.
 * Most refunds are made within this time.
 */
export const adoptedBeforeMsDefault = 90 * 24 * 60 * 60 * 1_000;
/**
 * The longest time between the creation of a payment's id and its reservation. So an id may be older than a snapshot
 * that lacks the payment.
 */
export const reservationMsMax = 60 * 1_000;
/**
 * The time until which records are read, in milliseconds since 1970. It is later than any clock, so that a clock that
 * is behind hides no charge.
 */
export const recordsEnd = Date.UTC(2100, 0, 1);
/**
 * Reconciliation reads the processor's records for this much longer at both ends, because a charge is recorded some
 * time after it is requested, and clocks differ.
 */
export const recordsSlackMs = 60 * 60 * 1_000;
/** The period that `payments list` and reconciliation cover by default: what happened since this time yesterday. */
export const paymentsPeriodMsDefault = 24 * 60 * 60 * 1_000;
/** The longest period of a reconciliation by HTTP: a month and some slack. The command has no limit. */
export const reconciledPeriodMsMax = 32 * 24 * 60 * 60 * 1_000;
/**
 * The longest time that a reconciliation by HTTP takes. Stripe's lists yield 2,000 charges a second, so it can read
 * half a million.
 */
export const reconciliationMsMax = 5 * 60 * 1_000;
/** Charges that a reconciliation by HTTP compares: their ids take some ten megabytes. */
export const reconciledChargesMax = 200_000;
/** Differences after which a reconciliation by HTTP ends: so many have a common cause, and further ones add nothing. */
export const reconciledDifferencesMax = 1_000;

/**
 * Cards per hour from one address that are declined, or whose challenge has not succeeded: people mistype twice,
 * thieves test hundreds of cards. The bucket refills evenly, so the first hour allows twice as many. Open challenges
 * have no larger limit of their own, because it would be the number of cards that a thief can test.
 */
export const declinesPerHourDefault = 5;
/** The limit per day, as a multiple of the limit per hour. */
export const declinesPerDayFactor = 4;
/** The limit of an IPv6 /48 network, as a multiple of the limit of one address: it is several households or one data centre. */
export const declinesOfNetworkFactor = 6;
/** Addresses whose counts are cached: some hundred kilobytes. */
export const countedAddressesMax = 10_000;

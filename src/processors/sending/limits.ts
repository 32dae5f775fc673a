/** Size limit of one reply. A page of 100 payments with all their fields is under 1 MiB. */
export const replyBytesMax = 16 * 1024 * 1024;
/** Shorter than the idle time-out of common load balancers (60 s at AWS, 75 s at nginx); long enough for a busy shop. */
export const idleConnectionMs = 10_000;
/** Recovery pauses after this many failed calls in a row: a processor that is down fails them all. */
export const circuitFailuresMax = 10;
/** Then one call is tried: a call in this time is no burden, and items that open charges hold wait for the processor's return. */
export const circuitPauseMs = 2_000;

/** Of one reply: a page of 100 payments with all their fields is under 1 MiB. */
export const replyBytesMax = 16 * 1024 * 1024;
/** Shorter than the idle time of every load balancer in use (60 s at AWS, 75 s at nginx), long enough for a busy shop. */
export const idleConnectionMs = 10_000;
/** So many calls of recovery in a row must fail before it pauses: a processor that is down fails them all. */
export const circuitFailuresMax = 10;
/** The pause, doubled after each trial that fails: short enough that recovery goes on within a minute of the processor. */
export const circuitPauseMsMin = 2_000;
export const circuitPauseMsMax = 60_000;

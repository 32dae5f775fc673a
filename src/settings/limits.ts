/** Bounds of settings: each with its unit at the end of its name, and the reason for its value. */

/** An hour less than the time for which processors are sure to remember a key (`keyLifeMs`). */
export const chargeRetrySecondsMax = 22 * 60 * 60;
/** A seat that waits for its buyer longer than this is lost to others. */
export const authenticationSecondsMax = 24 * 60 * 60;

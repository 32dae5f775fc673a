/** Bounds of secrets: each with its unit at the end of its name, and the reason for its value. */

/** A program that prints the master key calls a service in the same network; the start waits for it. */
export const masterKeyCommandMsMax = 5_000;
/**
 * A key stays this long after another key was put first: by then every process has checked the key file, and the last
 * seals under the old key are on disk, or their process is dead.
 */
export const masterKeyOverlapMs = 4 * 15_000;
/**
 * How often a process that seals checks the key file, at most. A check at every seal took 3 % of a charge's processor time; ten
 * a second take nothing. A rotation waits for it once.
 */
export const keyFileLookMs = 100;
/**
 * A rotation waits this long between putting the new key first and rewrapping. Twice the interval of looks, because a
 * timer may fire early by its rounding; one that fires late does no harm.
 */
export const keyFileTurnMs = 2 * keyFileLookMs;
/**
 * How long seals share a data key. A leaked data key opens every seal under it, so the time is short; among the charges of a
 * minute the cost of making one is nothing.
 */
export const sharedDataKeyMsMax = 60_000;
/**
 * Seals under one data key: about those of a minute at 1,000 charges/s. Each takes a random nonce, of which NIST
 * SP 800-38D (8.3) allows 2^32 per key; among 2^16 the chance that two are equal is 2^-65.
 */
export const sharedDataKeySealsMax = 65_536;
/** Records rewrapped at once: they share a flush, and leave capacity for other callers of the store. */
export const rewrapsAtOnceMax = 100;
/** Passes over all secrets in one rotation; if the last still finds one, a process is still sealing under an old key. */
export const rotationPassesMax = 10;

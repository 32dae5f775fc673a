/** Bounds of secrets: each with its unit at the end of its name, and the reason for its value. */

/** A program that prints the master key calls a service in the same network; the start waits for it. */
export const masterKeyCommandMsMax = 5_000;
/** A key stays this long after it stops sealing: by then its last seals are on disk, or their process is dead. */
export const masterKeyOverlapMs = 4 * 15_000;
/** Records rewrapped at once: they share a flush, and leave capacity for other callers of the store. */
export const rewrapsAtOnceMax = 100;
/** Passes over all secrets in one rotation; if the last still finds one, a process is still sealing under an old key. */
export const rotationPassesMax = 10;

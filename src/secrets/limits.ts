/** Bounds of secrets: each with its unit at the end of its name, and the reason for its value. */

/** A program that gives the master key asks a service in the same network; the start waits for it. */
export const masterKeyCommandMsMax = 5_000;
/** A key that seals no more is kept so long: what was sealed under it before is on disk by then, or its process is dead. */
export const masterKeyOverlapMs = 4 * 15_000;
/** Records rewrapped at once: they share a flush, and leave the store room for its callers. */
export const rewrapsAtOnceMax = 100;
/** Looks at all secrets that one rotation takes; when the last still finds one, a process goes on under an old key. */
export const rotationPassesMax = 10;

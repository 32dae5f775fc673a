/** Bounds of backup: each with its unit at the end of its name, and the reason for its value. */

/** A connection to a target that takes longer does not come about. */
export const connectMsMax = 5_000;
/** A target that sends and takes nothing for so long hangs; a slow one always moves some bytes in it. */
export const idleMsMax = 30_000;
/** Attempts of a request to a distant target, with growing pauses between them: some seconds in all. */
export const attemptsMax = 4;
/** Bytes of a part of a large upload: S3 takes no smaller parts than 5 MiB. */
export const partBytesMin = 8 * 1024 * 1024;
/** S3 takes 10,000 parts; the rest is a margin. */
export const partsMax = 9_000;
/** Parts that are sent at once: with their bytes, the memory of an upload. */
export const partsAtOnceMax = 3;
/** Small objects that are read or deleted at once: enough to hide the delay of each. */
export const requestsAtOnceMax = 16;
/** The pause before a broken download goes on, multiplied by the breaks in a row. */
export const resumePauseMs = 200;
/** A file in a bucket that no manifest lists is left over from a killed backup when it is so old: no upload takes longer. */
export const abandonedMs = 24 * 60 * 60 * 1_000;

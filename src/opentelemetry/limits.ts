/** Bounds of opentelemetry: each with its unit at the end of its name, and the reason for its value. */

/** One export of spans to a collector; spans that do not arrive are dropped. */
export const tracesExportMsMax = 5_000;
/** Time for the last spans at shutdown: they matter less than an exit in time. */
export const tracesFlushMsMax = 500;

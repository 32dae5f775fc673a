/** Bounds of opentelemetry: each with its unit at the end of its name, and the reason for its value. */

/** One delivery of spans to a collector; what does not arrive is dropped. */
export const tracesExportMsMax = 5_000;
/** What a stop spends on the last spans: they are worth less than an exit in time. */
export const tracesFlushMsMax = 500;

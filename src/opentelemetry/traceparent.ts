import { type Context, ROOT_CONTEXT, trace } from '@opentelemetry/api';

/** W3C Trace Context, 3.2.2: version, trace id, parent id, flags; a later version may have more behind them. */
const pattern = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The span of the caller's that a request belongs to; what is no traceparent is ignored, as 4.3 asks. */
export function parentOf(traceparent: string | undefined): Context {
  const [, version, traceId = '', spanId = '', flags = '', more] = pattern.exec(traceparent ?? '') ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return ROOT_CONTEXT;
  // Ids of zeros alone, which 3.2.2 forbids, the SDK takes for none.
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

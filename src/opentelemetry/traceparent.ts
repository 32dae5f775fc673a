import { type Context, ROOT_CONTEXT, trace } from '@opentelemetry/api';

/** W3C Trace Context, 3.2.2: version, trace id, parent id, flags; a later version may append more fields. */
const pattern = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The caller's span of a request; an invalid traceparent is ignored, as section 4.3 requires. */
export function parentOf(traceparent: string | undefined): Context {
  const [, version, traceId = '', spanId = '', flags = '', more] = pattern.exec(traceparent ?? '') ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return ROOT_CONTEXT;
  // Section 3.2.2 forbids ids of only zeros; the SDK treats them as missing.
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

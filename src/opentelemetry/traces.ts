import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { ServiceError } from '../errors.ts';
import type { Trace, TraceFields, Traces } from '../telemetry.ts';

/** One export of spans to a collector. Spans that do not arrive in time are dropped. */
const exportMsMax = 5_000;
/** Time for the last spans at shutdown: they matter less than an exit in time. */
const lastSpansMsMax = 500;

/**
 * Sends traces to an OpenTelemetry collector as JSON over HTTP, in batches in the background. A slow or missing collector
 * loses spans, but never a charge. Nothing is registered globally, and no library is instrumented.
 *
 * @param endpoint base address of the collector, for instance `http://127.0.0.1:4318`
 */
export function openTelemetryTraces(endpoint: string, version: string): Traces {
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: exportMsMax });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'counterfoil', 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('counterfoil', version);
  return {
    charge: ({ name, traceparent }, work) => {
      const kind = name === 'charge' ? SpanKind.SERVER : SpanKind.INTERNAL;
      const span = tracer.startSpan(name, { kind }, parseTraceparent(traceparent));
      return endAfter(span, () => work(makeTrace(tracer, span)));
    },
    close: async () => {
      const flushed = provider.shutdown().catch(() => undefined);
      await Promise.race([flushed, sleep(lastSpansMsMax, undefined, { ref: false })]);
    },
  };
}

/** W3C Trace Context, 3.2.2: version, trace id, parent id, flags. A later version may append more fields. */
const traceparentPattern = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The caller's span of a request. An invalid traceparent is ignored, as section 4.3 requires. */
export function parseTraceparent(traceparent = ''): Context {
  const [, version, traceId = '', spanId = '', flags = '', more] = traceparentPattern.exec(traceparent) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return ROOT_CONTEXT;
  // Section 3.2.2 forbids ids of only zeros; the SDK treats them as missing.
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function makeTrace(tracer: Tracer, whole: Span): Trace {
  const within: Context = trace.setSpan(ROOT_CONTEXT, whole);
  return {
    set: (fields) => setAttributes(whole, fields),
    step: (name, work) => {
      const kind = name !== 'reserve' && name !== 'settle' ? SpanKind.CLIENT : SpanKind.INTERNAL;
      return endAfter(tracer.startSpan(name, { kind }, within), work);
    },
  };
}

function setAttributes(span: Span, { payment_id, processor, outcome }: TraceFields): void {
  if (payment_id !== undefined) span.setAttribute('counterfoil.payment_id', payment_id);
  if (processor !== undefined) span.setAttribute('counterfoil.processor', processor);
  if (outcome !== undefined) span.setAttribute('counterfoil.outcome', outcome);
}

/** Ends the span after the work. Records only the code of an error: its message may quote a caller's data. */
async function endAfter<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const outcome = error instanceof ServiceError ? error.code : 'internal';
    setAttributes(span, { outcome });
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

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
import type { Trace, TraceFields, Traces } from '../tracing.ts';
import { tracesExportMsMax, tracesFlushMsMax } from './limits.ts';
import { parentOf } from './traceparent.ts';

/**
 * Sends traces to an OpenTelemetry collector as JSON over HTTP, in batches in the background. A slow or missing collector
 * loses spans, but never a charge. Nothing is registered globally, and no library is instrumented.
 *
 * @param endpoint base address of the collector, for instance `http://127.0.0.1:4318`
 */
export function openTelemetryTraces(endpoint: string, version: string): Traces {
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: tracesExportMsMax });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'counterfoil', 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('counterfoil', version);
  return {
    charge: ({ name, traceparent }, work) => {
      const kind = name === 'charge' ? SpanKind.SERVER : SpanKind.INTERNAL;
      const span = tracer.startSpan(name, { kind }, parentOf(traceparent));
      return ending(span, () => work(traceOf(tracer, span)));
    },
    close: async () => {
      const flushed = provider.shutdown().catch(() => undefined);
      await Promise.race([flushed, sleep(tracesFlushMsMax, undefined, { ref: false })]);
    },
  };
}

function traceOf(tracer: Tracer, whole: Span): Trace {
  const within: Context = trace.setSpan(ROOT_CONTEXT, whole);
  return {
    set: (fields) => setAttributes(whole, fields),
    step: (name, work) => {
      const kind = name !== 'reserve' && name !== 'settle' ? SpanKind.CLIENT : SpanKind.INTERNAL;
      return ending(tracer.startSpan(name, { kind }, within), work);
    },
  };
}

function setAttributes(span: Span, { payment_id, processor, outcome }: TraceFields): void {
  if (payment_id !== undefined) span.setAttribute('counterfoil.payment_id', payment_id);
  if (processor !== undefined) span.setAttribute('counterfoil.processor', processor);
  if (outcome !== undefined) span.setAttribute('counterfoil.outcome', outcome);
}

/** Records only the code of an error: its message may quote a caller's data. */
async function ending<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
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

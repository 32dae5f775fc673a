/**
 * The port for traces: one span for a charge, and one for each of its steps. A span contains only the fields named here,
 * and nothing else of a request, a payment or an error. A trace is never passed on to a processor.
 */
export interface Traces {
  /**
   * One charge, from its request or the start of its recovery to its response.
   *
   * @param traceparent as the caller sent it (W3C Trace Context, 3.2); any other value begins a new trace
   */
  charge<Result>(
    start: { readonly name: 'charge' | 'recover_charge'; readonly traceparent?: string | undefined },
    work: (trace: Trace) => Promise<Result>,
  ): Promise<Result>;
  /** Sends the spans that are still in memory, within the time limit of the exporter. */
  close(): Promise<void>;
}

export interface Trace {
  /** Sets fields of the span of the whole charge. */
  set(fields: TraceFields): void;
  step<Result>(name: ChargeStep, work: () => Promise<Result>): Promise<Result>;
}

export type ChargeStep = 'reserve' | 'ask' | 'look_up' | 'cancel' | 'settle';

/** All fields of a span, beside its name, its times and whether it failed. */
export interface TraceFields {
  readonly payment_id?: string;
  /** The name of a configured processor. */
  readonly processor?: string;
  /** A state of a charge, or a code of the closed list. */
  readonly outcome?: string;
}

const noTrace: Trace = { set: () => undefined, step: (_name, work) => work() };

/** Records nothing. */
export const noTraces: Traces = {
  charge: (_start, work) => work(noTrace),
  close: async () => undefined,
};

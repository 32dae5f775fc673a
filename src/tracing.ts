/**
 * The port to whoever keeps traces: one span for a charge, and one for each of its steps. What a span may say is named
 * here; nothing else of a request, a payment or an error reaches it. A trace is never passed on to a processor.
 */
export interface Traces {
  /**
   * One charge, from its request to its answer, or from its being taken up again.
   *
   * @param traceparent as the caller sent it (W3C Trace Context, 3.2); anything else begins a trace of its own
   */
  charge<Result>(
    start: { readonly name: 'charge' | 'recover_charge'; readonly traceparent?: string | undefined },
    work: (trace: Trace) => Promise<Result>,
  ): Promise<Result>;
  /** Sends what is still in memory, for as long as that may take. */
  close(): Promise<void>;
}

export interface Trace {
  /** Of the whole charge. */
  tell(fields: TraceFields): void;
  step<Result>(name: ChargeStep, work: () => Promise<Result>): Promise<Result>;
}

export type ChargeStep = 'reserve' | 'ask' | 'look_up' | 'cancel' | 'settle';

/** All that a span may hold, beside its name, its times and whether it failed. */
export interface TraceFields {
  readonly payment_id?: string;
  /** A configured one. */
  readonly processor?: string;
  /** A state of a charge, or a code of the closed list. */
  readonly outcome?: string;
}

const noTrace: Trace = { tell: () => undefined, step: (_name, work) => work() };

/** Keeps nothing. */
export const noTraces: Traces = {
  charge: (_start, work) => work(noTrace),
  close: async () => undefined,
};

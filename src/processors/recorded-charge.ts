/** What a processor keeps of a charge, as far as a restored store needs it. */

/** A charge in the processor's records. */
export interface ProcessorCharge extends RecordedCharge {
  readonly chargeId: string;
  /** Undefined if another system requested the charge. */
  readonly paymentId: string | undefined;
  readonly amountRefunded: number;
}

/** An attempt in the processor's records that waits for a cardholder, or for another card. */
export interface OpenAttempt extends RecordedCharge {
  readonly attemptId: string;
  readonly paymentId: string;
}

interface RecordedCharge {
  readonly amount: number;
  readonly currency: string;
  /** As the charge was requested with; absent if the processor does not keep it. */
  readonly request?: RecordedRequest;
  /** The caller's metadata; absent if the processor has none, or keeps none. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** What a restored store needs to know the request of a charge again. */
export interface RecordedRequest {
  readonly route?: string;
  /** The digest of the caller's idempotency key. */
  readonly keyEntry?: string;
}

/** As text for a processor that keeps texts; neither part has a space. */
export function requestText({ route = '', keyEntry }: RecordedRequest): string {
  return keyEntry === undefined ? route : `${route} ${keyEntry}`;
}

/** @param text of `requestText` */
export function requestOfText(text: string): RecordedRequest {
  const [route = '', keyEntry] = text.split(' ');
  return { route, ...(keyEntry === undefined ? {} : { keyEntry }) };
}

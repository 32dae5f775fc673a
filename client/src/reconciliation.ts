import { CounterfoilError, clientError, type ErrorBody } from './error.ts';
import { type Http, transportError } from './http.ts';
import type { CallOptions } from './tables.ts';

export interface ReconcileRequest extends CallOptions {
  readonly processor: string;
  /** The period: dates or times (RFC 3339); at most 32 days, and by default the last 24 hours. */
  readonly from?: string;
  readonly until?: string;
}

/** What has been compared so far. */
export interface ReconcileCounts {
  /** Our payments in the period. */
  readonly payments: number;
  /** Our charges in the records of the processor. */
  readonly charges: number;
  /** Charges in the records of the processor that another system requested. */
  readonly others: number;
}

export interface ReconcileDifference {
  readonly payment_id: string | null;
  readonly charge_id: string | null;
  /** The route of the payment; null if the payment is not among ours. */
  readonly route: string | null;
  /** The difference: the rest of a sentence that begins with the payment. */
  readonly difference: string;
}

export type ReconcileLine =
  | { readonly type: 'begin'; readonly processor: string; readonly from: string; readonly until: string }
  | ({ readonly type: 'progress' } & ReconcileCounts)
  | ({ readonly type: 'difference' } & ReconcileDifference)
  | ({
      readonly type: 'end';
      readonly differences: number;
      /** Why not everything was compared; null if it was. */
      readonly unfinished: string | null;
    } & ReconcileCounts);

type SentLine = ReconcileLine | { readonly type: 'error'; readonly error: ErrorBody };

/** Yields the lines as they arrive. The last line is `end`. Throws if the response ends without it. */
export async function* reconcile(
  http: Http,
  { signal, ...query }: ReconcileRequest,
): AsyncGenerator<ReconcileLine> {
  const call = { method: 'GET', path: '/v3/payments/reconciliation', query, signal };
  const response = await http.open(call);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) throw clientError('network_error');
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() as string;
      for (const text of lines) {
        const line = JSON.parse(text) as SentLine;
        if (line.type === 'error') throw new CounterfoilError(line.error, response);
        yield line;
        if (line.type === 'end') return;
      }
    }
  } catch (error) {
    throw transportError(error, signal);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

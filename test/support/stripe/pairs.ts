import { badKey, failed, invalid, type Reply, tooManyRequests } from './replies.ts';
import type { StripeRequest } from './request.ts';
import type { Call, Fault, Pair, Script } from './script.ts';

/** `before`: nothing was done. */
export const rejections: Readonly<Record<number, Reply>> = {
  429: tooManyRequests(),
  401: badKey(),
  403: {
    ...failed(403, 'invalid_request_error', { code: 'more_permissions_required' }),
    isUnprocessed: true,
  },
  400: invalid({ code: 'parameter_invalid_empty' }),
  404: { ...failed(404, 'invalid_request_error', { code: 'resource_missing' }), isUnprocessed: true },
};

/** The words without their second half, which is `_then_429` and so on. */
const losses: Readonly<Record<string, Omit<Pair, 'rejection'>>> = {
  reset_before_charging: { of: 'intent', loss: 'reset before' },
  reset_after_charging: { of: 'intent', loss: 'reset after' },
  cut_after_charging: { of: 'intent', loss: 'cut' },
  method_reset_before: { of: 'method', loss: 'reset before' },
  method_reset_after: { of: 'method', loss: 'reset after' },
  method_cut: { of: 'method', loss: 'cut' },
  refund_reset_before: { of: 'refund', loss: 'reset before' },
  refund_reset_after: { of: 'refund', loss: 'reset after' },
  refund_cut: { of: 'refund', loss: 'cut' },
};

/** Every loss with every rejection: `reset_after_charging_then_429` … */
export const pairs: Readonly<Record<string, Script & { readonly pair: Pair }>> = Object.fromEntries(
  Object.entries(losses).flatMap(([word, lost]) =>
    Object.entries(rejections).map(([status, rejection]) => [
      `${word}_then_${status}`,
      { pair: { ...lost, rejection } },
    ]),
  ),
);

export function wordsOfPairs(call: Call): string[] {
  return Object.keys(pairs).filter((word) => pairs[word]?.pair.of === call);
}

/** The part of a ledger that pairs need. */
interface PairedLedger {
  readonly switches: { readonly isRepaired: boolean };
  /** Idempotency keys whose first request has arrived. */
  readonly arrivals: { get(key: string): boolean | undefined; put(key: string, value: boolean): void };
}

/** The effect of a pair on this request: a rejection, or the fault of its reply; undefined without a pair. */
export function pairedFaultOf(
  ledger: PairedLedger,
  { headers }: StripeRequest,
  pair: Pair | undefined,
): { readonly rejection: Reply } | { readonly isLostBefore: true } | { readonly fault: Fault } | undefined {
  const key = headers['idempotency-key'];
  if (pair === undefined || typeof key !== 'string' || ledger.switches.isRepaired) return undefined;
  if (ledger.arrivals.get(key)) return { rejection: pair.rejection };
  ledger.arrivals.put(key, true);
  if (pair.loss === 'reset before') return { isLostBefore: true };
  return { fault: pair.loss === 'cut' ? 'cut' : 'reset' };
}

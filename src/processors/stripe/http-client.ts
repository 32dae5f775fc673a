import type { Throttle } from '../sending/pace.ts';
import { sendOnce } from '../sending/send-once.ts';
import type { Sends } from '../sending/sends.ts';

interface ClientOptions {
  readonly sends: Sends;
  /** Only for recovery: a buyer's charge does not wait. */
  readonly pace?: Throttle | undefined;
}

type Headers = Readonly<Record<string, string | number | string[]>>;

/**
 * The HTTP client below Stripe's SDK. The SDK's default client resends a request once after ECONNRESET and EPIPE, even
 * with `maxNetworkRetries: 0` (`_shouldRetry` in its RequestSender). If Stripe then rejects the second request, a charge
 * that was made looks like one that was not. The errors of `sendOnce` have no code that the SDK resends after, and every
 * send is counted.
 */
export function stripeHttpClient({ sends, pace }: ClientOptions) {
  return {
    getClientName: () => 'counterfoil',
    makeRequest: async (
      host: string,
      port: string,
      path: string,
      method: string,
      headers: Headers,
      requestData: string,
      protocol: string,
      timeoutMs: number,
    ) => {
      const key = headers['Idempotency-Key'];
      if (typeof key === 'string') sends.count(key);
      const url = new URL(`${protocol}://${host}:${port}${path}`);
      const sent = headers as Readonly<Record<string, string | number>>;
      const reply = await sendOnce(
        { url, method, headers: sent, body: requestData || undefined, timeoutMs },
        pace,
      );
      return {
        getStatusCode: () => reply.status,
        getHeaders: () => reply.headers as Record<string, string>,
        getRawResponse: () => ({}),
        toStream: () => {
          throw new Error('streamed replies are not supported');
        },
        toJSON: async () => JSON.parse(reply.text),
      };
    },
  };
}

import { LRUCache } from 'lru-cache';
import { replayCacheMax } from './limits.ts';
import type { Payment } from './payment.ts';

/**
 * Caches payments that were requested again, by idempotency key. It holds only succeeded payments, because their key,
 * request and response never change; proof may still override a decline. Other fields of the cached record, such as
 * refunds, may be stale; a repeated request does not need them.
 */
export class ReplayCache {
  readonly #byKey = new LRUCache<string, Payment>({ max: replayCacheMax });

  get(keyEntry: string): Payment | undefined {
    return this.#byKey.get(keyEntry);
  }

  note(keyEntry: string, payment: Payment): void {
    if (payment.state !== 'succeeded' || payment.response === undefined) return;
    this.#byKey.set(keyEntry, payment);
  }
}

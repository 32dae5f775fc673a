import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import { idempotentWaitMsMax } from '../limits.ts';

const pollMs = 25;

/**
 * Waits while the first request with the same key is running, also in another process.
 * Throws `idempotency_key_in_use` when that takes too long.
 *
 * @param look returns undefined while the first request is running
 */
export async function waitForFirst<Result>(look: () => Promise<Result | undefined>): Promise<Result> {
  const giveUpAt = performance.now() + idempotentWaitMsMax;
  for (;;) {
    const result = await look();
    if (result !== undefined) return result;
    if (performance.now() >= giveUpAt)
      throw new ServiceError('idempotency_key_in_use', { retryAfterSeconds: 1 });
    await sleep(pollMs);
  }
}

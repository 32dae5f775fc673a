import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../errors.ts';
import { idempotentWaitMsMax } from '../limits.ts';

const pollMs = 25;

/**
 * What a repeated request waits for while the first one is still running, be it in another process.
 * Refuses with `idempotency_key_in_use` when that takes too long.
 *
 * @param look undefined while the first one is running
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

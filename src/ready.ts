import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from './errors.ts';
import { readyMsMax } from './limits.ts';
import type { Engine } from './storage/engine.ts';

/** Whether the service can take work: the store answers. Throws ServiceError `unavailable`. */
export async function checkReady(engine: Engine, isStopping: boolean): Promise<void> {
  if (isStopping) throw new ServiceError('unavailable', { message: 'The service is stopping.' });
  const late = sleep(readyMsMax, 'late', { ref: false });
  const read = engine.get('service:sealing', 'current-key').catch((cause) => ({ cause }));
  const outcome = await Promise.race([read, late]);
  if (outcome === 'late' || typeof outcome === 'object')
    throw new ServiceError('unavailable', {
      message: 'The store cannot be read.',
      detail: typeof outcome === 'object' ? (outcome.cause as Error).message : 'it does not answer',
    });
}

import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, TransientError } from '../errors.ts';
import type { Log } from '../log.ts';
import { startPatienceMsMax, startPauseMs } from './limits.ts';

/** The address is not there yet, or its name cannot be resolved. */
const addressErrors: readonly unknown[] = ['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'];

/**
 * Runs a step of the start, and again while it fails for a reason that may pass. Each such failure is a log line. After
 * `startPatienceMsMax` it throws the last one.
 */
export async function withPatience<Result>(log: Log, step: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + startPatienceMsMax;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!mayPass(error) || performance.now() >= end) throw error;
      const { message, details } = error as Error & Partial<ServiceError>;
      log.warn('start_delayed', { detail: details?.detail ?? message });
      await sleep(startPauseMs);
    }
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof TransientError) return true;
  if (error instanceof ServiceError) return error.code === 'unavailable' || error.code === 'overloaded';
  return addressErrors.includes((error as NodeJS.ErrnoException).code);
}

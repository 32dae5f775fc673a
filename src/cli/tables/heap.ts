import { setFlagsFromString } from 'node:v8';
import { heapGrowthPercent, youngObjectsMegabytes } from '../limits.ts';

/**
 * Commands that move many items make much garbage and keep little. V8 would let it grow with the length of the file, since that
 * is the fastest way. Call it before the store is opened, whose thread has a heap of its own.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--max-semi-space-size=${youngObjectsMegabytes}`);
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
}

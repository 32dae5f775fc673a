import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { backupPriority } from '../limits.ts';

/**
 * Gives the whole process the priority of a backup, so that a service on the same machine comes first. On Linux each thread has a
 * priority of its own, which threads that it starts later take over.
 */
export function lowerPriority(): void {
  for (const id of [0, ...threads()]) {
    try {
      setPriority(id, backupPriority);
    } catch {
      // The thread has ended, or the system does not allow it: then the backup takes its share.
    }
  }
}

function threads(): readonly number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [];
  }
}

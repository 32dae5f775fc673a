import type { Case } from '../case.ts';
import { measureWrites } from '../durable-writes.ts';

/** A write that finds its item first, and changes it durably. */
export const update: Case = {
  name: 'update',
  summary: 'changes the names of items durably, any item of the table at random',

  measure: (workplace, conditions) =>
    measureWrites(
      {
        name: 'update',
        method: 'PUT',
        tableOf: () => 'updated',
        items: (count) => ({ kind: 'known', count }),
        isStored: ({ before, after }) => after === before,
      },
      workplace,
      conditions,
    ),
};

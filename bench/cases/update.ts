import type { Case } from '../case.ts';
import { measureWrites } from '../durable-writes.ts';

/** A write that reads its item first and replaces it durably. */
export const update: Case = {
  name: 'update',
  summary: 'changes the names of random items of the table durably',

  measure: (environment, conditions) =>
    measureWrites(
      {
        name: 'update',
        method: 'PUT',
        tableOf: () => 'updated',
        items: (count) => ({ kind: 'known', count }),
        isStored: ({ before, after }) => after === before,
      },
      environment,
      conditions,
    ),
};

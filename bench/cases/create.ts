import type { Case } from '../case.ts';
import { measureWrites } from '../durable-writes.ts';
import { takeStream } from '../items.ts';

/** What no service can answer from memory: each 200 says that the item is on disk. */
export const create: Case = {
  name: 'create',
  summary: 'creates items durably, each under a new random id',

  measure: (workplace, conditions) =>
    measureWrites(
      {
        name: 'create',
        method: 'POST',
        // Each round has a table of its own, so that none begins with the items of those before it.
        tableOf: (label) => label,
        items: () => ({ kind: 'new', stream: takeStream() }),
        isStored: ({ before, answered, after }) => after >= before + answered,
      },
      workplace,
      conditions,
    ),
};

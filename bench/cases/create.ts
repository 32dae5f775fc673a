import type { Case } from '../case.ts';
import { measureWrites } from '../durable-writes.ts';
import { takeStream } from '../items.ts';

/** A write that cannot be served from memory: each 200 means that the item is on disk. */
export const create: Case = {
  name: 'create',
  summary: 'creates items durably, each under a new random id',

  measure: (environment, conditions) =>
    measureWrites(
      {
        name: 'create',
        method: 'POST',
        // Each round has a table of its own, so that no round starts with the items of an earlier one.
        tableOf: (label) => label,
        items: () => ({ kind: 'new', stream: takeStream() }),
        isStored: ({ before, acknowledged, after }) => after >= before + acknowledged,
      },
      environment,
      conditions,
    ),
};

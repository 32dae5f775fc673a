import type { CardCounts } from '../../../src/payments/card-testing.ts';

const unchanged = { writes: [], committed: () => undefined };

/** Counts no cards. */
export const uncounted: CardCounts['cardTesting'] = {
  count: async () => unchanged,
  giveBack: async () => unchanged,
  isCount: () => false,
};

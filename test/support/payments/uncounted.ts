import type { TriedCards } from '../../../src/payments/charge/tried-cards.ts';

const unchanged = { writes: [], committed: () => undefined };

/** Counts no cards. */
export const uncounted: TriedCards = {
  count: async () => unchanged,
  giveBack: async () => unchanged,
  isCount: () => false,
};

import type { Counterfoil } from '@counterfoil/client';
import { paymentsPerPage } from '../limits.ts';
import type { Place } from '../service.ts';
import type { Row } from './history.ts';

/** Every payment that needs review, oldest first. */
export async function paymentsThatNeedReview(
  client: Counterfoil,
  places: readonly Place[],
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const found = await Promise.all(
    places.map(async (place) => {
      const rows: Row[] = [];
      let after: string | undefined;
      do {
        const page = await client.payments.list({
          ...place,
          status: 'needs_review',
          limit: paymentsPerPage,
          signal,
          ...(after === undefined ? {} : { after }),
        });
        rows.push(...page.payments.map((payment) => ({ ...payment, route: place.route })));
        after = page.next;
      } while (after !== undefined);
      return rows;
    }),
  );
  return found.flat().toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'preact/hooks';
import { newsMs, openPaymentsMs } from '../limits.ts';
import type { Place } from '../service.ts';
import { useConnection } from '../session.tsx';
import { firstLook, lookBack, merged, newsSince, type Row } from './history.ts';

/** The states of payments that have ended, and so are not read again. */
const ended = new Set(['succeeded', 'declined']);

/** All payments that were read so far, newest first, kept up to date while the page is visible. */
export function useHistory(places: readonly Place[]) {
  const { client } = useConnection();
  const queries = useQueryClient();
  const past = useInfiniteQuery({
    queryKey: ['payments', 'past', places],
    queryFn: ({ pageParam, signal }) => lookBack({ client, places, signal }, pageParam),
    initialPageParam: useMemo(firstLook, []),
    getNextPageParam: ({ next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const known = useMemo(() => (past.data?.pages ?? []).map(({ rows }) => rows), [past.data]);
  const newsKey = ['payments', 'news', places];
  /** Newer data than the past: new payments, and open payments that have changed. */
  const newsNow = () => queries.getQueryData<readonly Row[]>(newsKey) ?? [];
  const news = useQuery({
    queryKey: newsKey,
    queryFn: async ({ signal }) => {
      const newest = merged(known[0]?.slice(0, 1) ?? [], newsNow().slice(0, 1))[0];
      const since = newest === undefined ? Date.now() - newsMs : Date.parse(newest.created_at);
      const found = await newsSince({ client, places, signal }, since);
      const before = newsNow();
      // An unchanged list must not render again.
      return found.every((row) => before.some((each) => isSame(each, row))) ? before : merged(before, found);
    },
    enabled: past.isSuccess,
    refetchInterval: newsMs,
    gcTime: 0,
  });
  const rows = useMemo(() => merged(...known, news.data ?? []), [known, news.data]);
  const open = rows.filter(({ status }) => !ended.has(status)).slice(0, 20);
  useQuery({
    queryKey: ['payments', 'open', places, open.map(({ id }) => id)],
    queryFn: async ({ signal }) => {
      const found = await Promise.all(
        open.map(
          async (row): Promise<Row> => ({
            ...(await client.payments.get({ ...row, paymentId: row.id, signal })),
            route: row.route,
          }),
        ),
      );
      const changed = found.filter((row) => !open.some((each) => isSame(each, row)));
      // Added to the rows, so that an ended payment still shows its end when it is no longer read.
      if (changed.length > 0) queries.setQueryData(newsKey, merged(newsNow(), changed));
      return null;
    },
    enabled: open.length > 0,
    refetchInterval: openPaymentsMs,
  });
  return {
    rows,
    past,
    error: past.error ?? news.error,
  };
}

function isSame(one: Row, other: Row): boolean {
  return one.id === other.id && JSON.stringify(one) === JSON.stringify(other);
}

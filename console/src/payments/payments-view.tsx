import { getRouteApi, Link } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef } from 'preact/hooks';
import { looksInARowMax } from '../limits.ts';
import { decimalsOf, written } from '../money.ts';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { Time } from '../parts/time.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { placesOf } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { FilterBar } from './filter-bar.tsx';
import { dayOf, type Filters, matches } from './filters.ts';
import type { Row } from './history.ts';
import { useHistory } from './use-history.ts';

const api = getRouteApi('/payments');
/** Enough matching payments for one screen, until the reader scrolls. */
const matchesWanted = 40;

export default function PaymentsView() {
  const { session } = useConnection();
  const filters = api.useSearch();
  const places = useMemo(() => placesOf(session), [session]);
  const { rows, past, error } = useHistory(places);
  const shown = useMemo(
    () => rows.filter((row) => matches(row, filters, decimalsOf(session, row.currency))),
    [rows, filters, session],
  );
  const search = useLookAhead(shown.length, filters, past);
  const { title } = texts.payments;
  if (session.payments === null) return <Empty title={title}>{texts.payments.elsewhere}</Empty>;
  const isEmpty = rows.length === 0 && past.isSuccess && !past.hasNextPage;
  return (
    <>
      <h1>{title}</h1>
      <FilterBar places={places} />
      <p class="count" role="status">
        {past.isPending ? texts.loading : texts.payments.count(shown.length)}
        {!past.hasNextPage && past.isSuccess && shown.length > 0 && ` · ${texts.payments.all}`}
      </p>
      {error !== null && <Problem error={error} again={() => void past.refetch()} />}
      {isEmpty ? <NoPayments /> : <List shown={shown} reached={search.reached} />}
      {search.isPaused && (
        <button type="button" onClick={search.goOn}>
          {texts.payments.older}
        </button>
      )}
    </>
  );
}

function List({
  shown,
  reached,
}: {
  readonly shown: readonly Row[];
  readonly reached: (index: number) => void;
}) {
  const { session } = useConnection();
  const { columns, statuses, noneHere } = texts.payments;
  if (shown.length === 0) return <p>{noneHere}</p>;
  return (
    <VirtualRows
      label={texts.payments.title}
      name="payments"
      count={shown.length}
      columns={[columns.amount, columns.status, columns.id, columns.place, columns.created, columns.note]}
      reached={reached}
      row={(index) => {
        const row = shown[index] as Row;
        const { id, processor, route } = row;
        return (
          <>
            <div role="cell">
              <Link to="/payments/$processor/$route/$id" params={{ processor, route, id }}>
                {written(session, row.amount, row.currency)}
              </Link>
            </div>
            <div role="cell">
              <span class={`status ${row.status}`}>{statuses[row.status]}</span>
            </div>
            <div role="cell" class="code">
              {id}
            </div>
            <div role="cell">{`${processor}/${route}`}</div>
            <div role="cell">
              <Time at={row.created_at} />
            </div>
            <div role="cell">{row.description}</div>
          </>
        );
      }}
    />
  );
}

function NoPayments() {
  const { session } = useConnection();
  const { payments } = session;
  const path = `${payments?.base_path}/stage/payment/${payments?.processors[0]}/${Object.keys(payments?.routes ?? {})[0]}`;
  return (
    <Empty title={texts.payments.noneTitle} command={texts.payments.command(location.origin, path)}>
      <p>{texts.payments.none}</p>
    </Empty>
  );
}

/** Reads older payments while too few match, up to `looksInARowMax` times, and when the reader scrolls near the end. */
function useLookAhead(shown: number, filters: Filters, past: ReturnType<typeof useHistory>['past']) {
  const looks = useRef(0);
  const wanted = useRef(matchesWanted);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other filters begin another search
  useEffect(() => {
    looks.current = 0;
    wanted.current = matchesWanted;
  }, [filters]);
  const { hasNextPage, isFetching, fetchNextPage, data } = past;
  const readTo = data?.pages.at(-1)?.next?.before ?? Number.POSITIVE_INFINITY;
  const isBelow = readTo <= (dayOf(filters.from) ?? Number.NEGATIVE_INFINITY);
  const canLook = hasNextPage && !isFetching && !isBelow && past.error === null;
  const look = useCallback(() => {
    if (!canLook || shown >= wanted.current || looks.current >= looksInARowMax) return;
    looks.current++;
    void fetchNextPage();
  }, [canLook, shown, fetchNextPage]);
  useEffect(look, [look]);
  return {
    isPaused: canLook && shown < wanted.current && looks.current >= looksInARowMax,
    goOn: () => {
      looks.current = 0;
      look();
    },
    reached: useCallback(
      (index: number) => {
        if (index + matchesWanted <= wanted.current) return;
        wanted.current = index + matchesWanted;
        looks.current = 0;
        look();
      },
      [look],
    ),
  };
}

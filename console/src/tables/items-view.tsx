import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'preact/compat';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { rowsAhead } from '../limits.ts';
import { Problem } from '../parts/problem.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { ItemPages } from './item-pages.ts';
import { JumpForm } from './jump-form.tsx';

const api = getRouteApi('/tables/$table');
const ItemDialog = lazy(() => import('./item-dialog.tsx'));
const TransferDialog = lazy(() => import('./transfer-dialog.tsx'));

/** The items of a table, as far as they are scrolled to. */
export default function ItemsView() {
  const { table } = api.useParams();
  const { from, prefix } = api.useSearch();
  const { client, session } = useConnection();
  const [edited, setEdited] = useState<{ readonly id: string | undefined }>();
  const [transfers, setTransfers] = useState(false);
  const { pages, reload } = usePages(table, from, prefix);
  const facts = useQuery({
    queryKey: ['count', table],
    queryFn: ({ signal }) => client.table(table).count({ signal }),
  });
  const changed = () => {
    reload();
    void facts.refetch();
  };
  const { reached } = pages;
  return (
    <>
      <p>
        <Link to="/tables">{texts.tables.back}</Link>
      </p>
      <h1>{table}</h1>
      <div class="bar">
        <JumpForm table={table} from={from} prefix={prefix} />
        <button type="button" onClick={() => setTransfers(true)}>
          {texts.transfer.title}
        </button>
        {may(session, 'tables:write') && (
          <button type="button" onClick={() => setEdited({ id: undefined })}>
            {texts.tables.newItem}
          </button>
        )}
      </div>
      <p class="count" role="status">
        {facts.data !== undefined && texts.tables.items(facts.data.toLocaleString())}
        {' · '}
        {texts.tables.loaded(pages.count.toLocaleString())}
        {pages.isFull && ` · ${texts.tables.loadedMax}`}
      </p>
      {pages.error !== undefined && <Problem error={pages.error} again={reload} />}
      {pages.isComplete && pages.count === 0 && <p>{texts.tables.noneItems}</p>}
      <VirtualRows
        label={table}
        name="items"
        count={pages.count}
        columns={[texts.tables.itemColumns.id, texts.tables.itemColumns.name]}
        reached={reached}
        row={(index) => {
          const item = pages.at(index);
          return (
            <>
              <div role="cell">
                {item !== undefined && (
                  <button
                    type="button"
                    class="link"
                    aria-label={texts.tables.edit(item.id)}
                    onClick={() => setEdited({ id: item.id })}
                  >
                    {item.id}
                  </button>
                )}
              </div>
              <div role="cell">{item?.name.slice(0, charactersShownMax)}</div>
            </>
          );
        }}
      />
      {transfers && (
        <Suspense fallback={null}>
          <TransferDialog table={table} close={() => setTransfers(false)} changed={changed} />
        </Suspense>
      )}
      {edited !== undefined && (
        <Suspense fallback={null}>
          <ItemDialog table={table} id={edited.id} close={() => setEdited(undefined)} changed={changed} />
        </Suspense>
      )}
    </>
  );
}

/** Longer than any row is wide. The dialog shows the whole name. */
const charactersShownMax = 300;

/** The pages of a view; `reload` reads them again from the beginning. */
function usePages(table: string, from: string | undefined, prefix: string | undefined) {
  const { client } = useConnection();
  const [version, setVersion] = useState(0);
  const [, setRevision] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another reading
  const pages = useMemo(
    () => new ItemPages(client.table(table), { from, prefix }, () => setRevision((revision) => revision + 1)),
    [client, table, from, prefix, version],
  );
  useEffect(() => {
    void pages.need(1);
    return () => pages.stop();
  }, [pages]);
  const reached = useCallback((index: number) => void pages.need(index + rowsAhead), [pages]);
  return {
    reload: useCallback(() => setVersion((before) => before + 1), []),
    pages: {
      count: pages.count,
      isComplete: pages.isComplete,
      isFull: pages.isFull,
      error: pages.error,
      at: (index: number) => pages.at(index),
      reached,
    },
  };
}

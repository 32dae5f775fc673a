import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { lazy, Suspense } from 'preact/compat';
import { useMemo, useState } from 'preact/hooks';
import { Problem } from '../parts/problem.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { ItemRows } from './item-rows.tsx';
import { JumpForm } from './jump-form.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { useDeletion } from './use-deletion.ts';
import { useItemPages } from './use-item-pages.ts';
import { useSelection } from './use-selection.ts';

const api = getRouteApi('/tables/$table');
const ItemDialog = lazy(() => import('./item-dialog.tsx'));
const TransferDialog = lazy(() => import('./transfer-dialog.tsx'));
const DropDialog = lazy(() => import('./drop-dialog.tsx'));

type Opened =
  | { readonly what: 'item'; readonly id: string | undefined }
  | { readonly what: 'transfer' | 'drop' };

/** The items of a table, as far as the reader has scrolled. */
export default function ItemsView() {
  const { table } = api.useParams();
  // Each table has its own view, so that a waiting deletion ends with it.
  return <Items key={table} table={table} />;
}

function Items({ table }: { readonly table: string }) {
  const { from, prefix } = api.useSearch();
  const { client, session } = useConnection();
  const [opened, setOpened] = useState<Opened>();
  const { pages, reached, reload } = useItemPages(table, from, prefix);
  const facts = useQuery({
    queryKey: ['count', table],
    queryFn: ({ signal }) => client.table(table).count({ signal }),
  });
  const changed = () => {
    reload();
    void facts.refetch();
  };
  const selection = useSelection(pages);
  const deletion = useDeletion(table, changed);
  const leaving = useMemo(
    () => ('items' in deletion.state ? new Set(deletion.state.items.map(({ id }) => id)) : undefined),
    [deletion.state],
  );
  const canWrite = may(session, 'tables:write');
  return (
    <>
      <p>
        <Link to="/tables">{texts.tables.back}</Link>
      </p>
      <h1>{table}</h1>
      <div class="bar">
        <JumpForm table={table} from={from} prefix={prefix} />
        <button type="button" onClick={() => setOpened({ what: 'transfer' })}>
          {texts.transfer.title}
        </button>
        {canWrite && (
          <button type="button" onClick={() => setOpened({ what: 'item', id: undefined })}>
            {texts.tables.newItem}
          </button>
        )}
        {may(session, 'admin') && (
          <button type="button" onClick={() => setOpened({ what: 'drop' })}>
            {texts.drop.open}
          </button>
        )}
      </div>
      <p class="count" role="status">
        {facts.data !== undefined && texts.tables.items(facts.data.toLocaleString())}
        {' · '}
        {texts.tables.loaded(pages.count.toLocaleString())}
        {pages.isFull && ` · ${texts.tables.loadedMax}`}
      </p>
      {pages.error !== undefined && <Problem error={pages.error} again={() => pages.retry()} />}
      {pages.isComplete && pages.count === 0 && <p>{texts.tables.noneItems}</p>}
      <ItemRows
        table={table}
        pages={pages}
        reached={reached}
        open={(id) => setOpened({ what: 'item', id })}
        selection={canWrite ? selection : undefined}
        leaving={leaving}
        deleteChosen={() => deletion.start([...selection.items.values()])}
      />
      <SelectionBar selection={selection} deletion={deletion} />
      {opened !== undefined && (
        <Suspense fallback={null}>
          <OpenedDialog opened={opened} table={table} close={() => setOpened(undefined)} changed={changed} />
        </Suspense>
      )}
    </>
  );
}

function OpenedDialog({
  opened,
  ...props
}: {
  readonly opened: Opened;
  readonly table: string;
  readonly close: () => void;
  readonly changed: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  switch (opened.what) {
    case 'item':
      return <ItemDialog id={opened.id} {...props} />;
    case 'transfer':
      return <TransferDialog {...props} />;
    case 'drop':
      return (
        <DropDialog
          table={props.table}
          close={props.close}
          dropped={() => {
            queries.removeQueries({ queryKey: ['tables'] });
            void navigate({ to: '/tables' });
          }}
        />
      );
  }
}

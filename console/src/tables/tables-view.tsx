import type { TableFacts } from '@counterfoil/client';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'preact/compat';
import { useState } from 'preact/hooks';
import { Empty } from '../parts/empty.tsx';
import { Problem } from '../parts/problem.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { may } from '../service.ts';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';

const ItemDialog = lazy(() => import('./item-dialog.tsx'));

/** The tables, with the number of their items and their size. */
export default function TablesView() {
  const { client, session } = useConnection();
  const [isNew, setNew] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['tables'],
    queryFn: async ({ signal }) => {
      const tables: TableFacts[] = [];
      for await (const page of client.tables({ signal })) tables.push(...page);
      return tables;
    },
  });
  return (
    <>
      <h1>{texts.tables.title}</h1>
      <p>{texts.tables.policy[session.table_policy]}</p>
      {may(session, 'tables:write') && session.table_policy === 'open' && (
        <button type="button" onClick={() => setNew(true)}>
          {texts.tables.newTable}
        </button>
      )}
      {error !== null && <Problem error={error} again={() => void refetch()} />}
      {data === undefined && error === null && <p>{texts.loading}</p>}
      {data?.length === 0 && <NoTables />}
      {data !== undefined && data.length > 0 && <List tables={data} />}
      {isNew && (
        <Suspense fallback={null}>
          <ItemDialog
            table={undefined}
            id={undefined}
            close={() => setNew(false)}
            changed={() => void refetch()}
          />
        </Suspense>
      )}
    </>
  );
}

function List({ tables }: { readonly tables: readonly TableFacts[] }) {
  const { columns } = texts.tables;
  return (
    <VirtualRows
      label={texts.tables.title}
      name="tables"
      count={tables.length}
      columns={[columns.name, columns.count, columns.bytes]}
      row={(index) => {
        const { name, count, bytes } = tables[index] as TableFacts;
        return (
          <>
            <div role="cell">
              <Link to="/tables/$table" params={{ table: name }} search={{}}>
                {name}
              </Link>
            </div>
            <div role="cell">{count?.toLocaleString()}</div>
            <div role="cell">{bytes === undefined ? '' : sizeOf(bytes)}</div>
          </>
        );
      }}
    />
  );
}

function NoTables() {
  const { session } = useConnection();
  const address = `${location.origin}${session.base_path}/v3`;
  return (
    <Empty title={texts.tables.noneTitle} command={texts.tables.command(address)}>
      <p>{texts.tables.none}</p>
    </Empty>
  );
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;

function sizeOf(bytes: number): string {
  const step = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  const options = { style: 'unit', unit: units[step], maximumSignificantDigits: 3 } as const;
  return new Intl.NumberFormat(undefined, options).format(bytes / 1_000 ** step);
}

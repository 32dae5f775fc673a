import { useQuery } from '@tanstack/react-query';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { EditItem } from './edit-item.tsx';
import { NewItem } from './new-item.tsx';

interface ItemDialogProps {
  /** Undefined for the first item of a new table. */
  readonly table: string | undefined;
  /** Undefined for a new item. */
  readonly id: string | undefined;
  readonly close: () => void;
  readonly changed: () => void;
}

/** Creates an item, or shows one to edit or delete it. */
export default function ItemDialog({ table, id, close, changed }: ItemDialogProps) {
  const ended = () => {
    changed();
    close();
  };
  return (
    <Dialog title={id === undefined ? texts.item.create : texts.item.edit} close={close}>
      {table === undefined || id === undefined ? (
        <NewItem table={table} close={close} ended={ended} />
      ) : (
        <Existing table={table} id={id} close={close} ended={ended} />
      )}
    </Dialog>
  );
}

function Existing({
  table,
  id,
  close,
  ended,
}: {
  readonly table: string;
  readonly id: string;
  readonly close: () => void;
  readonly ended: () => void;
}) {
  const { client } = useConnection();
  const { data, error, isPending } = useQuery({
    queryKey: ['item', table, id],
    queryFn: async ({ signal }) => (await client.table(table).get(id, { signal })) ?? null,
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (error !== null) return <Problem error={error} />;
  if (isPending) return <p>{texts.loading}</p>;
  if (data === null || data === undefined) return <p role="alert">{texts.item.gone}</p>;
  return <EditItem table={table} item={data} close={close} ended={ended} />;
}

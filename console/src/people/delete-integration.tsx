import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { type Integration, labelOf, pathOf } from './integration.ts';

/** Deletes an integration, after a confirmation. */
export default function DeleteIntegration({
  integration,
  close,
  changed,
}: {
  readonly integration: Integration;
  readonly close: () => void;
  readonly changed: () => void;
}) {
  const { calls } = useConnection();
  const [error, setError] = useState<unknown>();
  const remove = async () => {
    try {
      await calls.send('DELETE', pathOf(integration));
      changed();
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog title={texts.integration.delete(labelOf(integration))} close={close}>
      <p>{texts.integration.deleteSure}</p>
      {error !== undefined && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={close}>
          {texts.item.cancel}
        </button>
        <button type="button" class="danger" onClick={() => void remove()}>
          {texts.integration.deleteConfirm}
        </button>
      </div>
    </Dialog>
  );
}

import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useConnection } from '../session.tsx';
import { texts } from '../texts.ts';
import { type Integration, labelOf, pathOf } from './integration.ts';

const { approval } = texts.integration;

/** Approves an integration for this console, or withdraws the approval, after a confirmation. */
export default function ApproveIntegration({
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
  const { client_id, issuer, console_approved_at } = integration;
  const isApproved = console_approved_at !== null;
  const words = isApproved ? approval.withdrawing : approval.approving;
  const send = async () => {
    try {
      // The client that the reader sees. The approval fails if another client has just replaced it.
      if (isApproved) await calls.send('DELETE', `${pathOf(integration)}/approval`);
      else await calls.send('PUT', `${pathOf(integration)}/approval`, { client_id, issuer });
      changed();
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Dialog title={words.title(labelOf(integration))} close={close}>
      <p>{words.sure}</p>
      <p class="code">{client_id}</p>
      {issuer !== undefined && <p class="code">{issuer}</p>}
      {error !== undefined && <Problem error={error} />}
      <div class="actions">
        <button type="button" onClick={close}>
          {texts.item.cancel}
        </button>
        <button type="button" class={isApproved ? 'danger' : 'primary'} onClick={() => void send()}>
          {words.submit}
        </button>
      </div>
    </Dialog>
  );
}

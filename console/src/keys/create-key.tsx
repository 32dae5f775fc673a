import type { ShownApiKey } from '@counterfoil/client/operator';
import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.tsx';
import { texts } from '../texts.ts';
import { KeyForm } from './key-form.tsx';
import { ShownSecret } from './shown-secret.tsx';

const { create, shown } = texts.apiKeys;

/** Creates a key, and shows it once. */
export default function CreateKey({ close }: { readonly close: () => void }) {
  const [made, setMade] = useState<ShownApiKey>();
  const [isSending, setSending] = useState(false);
  return (
    <Dialog
      title={made === undefined ? create : shown.title(made.name)}
      close={close}
      // Closing the dialog now would lose the secret.
      isHeld={isSending || made !== undefined}
    >
      {made === undefined ? (
        <KeyForm isSending={isSending} setSending={setSending} close={close} created={setMade} />
      ) : (
        <ShownSecret made={made} close={close} />
      )}
    </Dialog>
  );
}

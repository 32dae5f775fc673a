import { Dialog } from './parts/dialog.tsx';
import { texts } from './texts.ts';

/** The keyboard shortcuts. */
export default function KeyList({ close }: { readonly close: () => void }) {
  return (
    <Dialog title={texts.keys.title} close={close}>
      <dl class="keys">
        {texts.keys.list.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        {texts.keys.close}
      </button>
    </Dialog>
  );
}

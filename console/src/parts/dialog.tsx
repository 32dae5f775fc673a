import { Dialog as Base } from '@base-ui/react/dialog';
import type { ComponentChildren } from 'preact';

/** A modal dialog: it holds the focus, closes by Escape, and gives the focus back. */
export function Dialog({
  title,
  close,
  children,
}: {
  readonly title: string;
  readonly close: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <Base.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup className="dialog">
          <Base.Title className="dialog-title">{title}</Base.Title>
          {children as never}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

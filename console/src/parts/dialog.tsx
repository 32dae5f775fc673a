import { Dialog as Base } from '@base-ui/react/dialog';
import type { ComponentChildren } from 'preact';

interface DialogProps {
  readonly title: string;
  readonly close: () => void;
  /** While it is true, neither Escape nor a press outside closes the dialog. */
  readonly isHeld?: boolean;
  readonly children: ComponentChildren;
}

/** A modal dialog: it holds the focus, closes by Escape, and gives the focus back. */
export function Dialog({ title, close, isHeld = false, children }: DialogProps) {
  return (
    <Base.Root open onOpenChange={(isOpen) => !isOpen && !isHeld && close()}>
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

import type { ComponentChildren } from 'preact';

/** A view without content, with the command that gives it some. */
export function Empty({
  title,
  children,
  command,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly command?: string | undefined;
}) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
      {command !== undefined && <Command text={command} />}
    </div>
  );
}

/** A command to copy. It can be scrolled by keyboard. */
export function Command({ text }: { readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
  );
}

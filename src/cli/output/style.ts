import { styleText } from 'node:util';

/** The styles in use: a bold heading, a good, a doubtful and a bad state, and what matters less. */
export type Style = 'bold' | 'green' | 'yellow' | 'red' | 'dim';

/** Styles a text if the stream is a terminal that has colours and NO_COLOR is not set; otherwise returns it unchanged. */
export function styled(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return hasColors(stream) ? styleText(style, text, { validateStream: false }) : text;
}

/** An empty NO_COLOR counts as not set (no-color.org). */
export function hasColors(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && stream.getColorDepth() > 1;
}

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

/**
 * Makes foreign text safe for a terminal: writes control characters, which could overwrite other lines, and characters that
 * reorder or break a line, as `\\u001b`. Applied to JSON it changes only how strings are escaped.
 */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

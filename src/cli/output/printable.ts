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

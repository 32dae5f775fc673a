/** A text of somebody else's, for a terminal: control characters, which could write over other lines, as `\\u001b`. */
export function printable(text: string): string {
  return text.replace(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

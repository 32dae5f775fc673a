/** Makes foreign text safe for a terminal: writes control characters, which could overwrite other lines, as `\\u001b`. */
export function printable(text: string): string {
  return text.replace(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

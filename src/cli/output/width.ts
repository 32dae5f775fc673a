/** Printable ASCII, which needs no segmentation. */
const plain = /^[\x20-\x7e]*$/;
/** Scripts and symbols that take two columns of a terminal. */
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The columns that a text takes on a terminal. @param text without control characters */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The text, or its beginning and an ellipsis, in at most this many columns. */
export function cutTo(columns: number, text: string): string {
  if (widthOf(text) <= columns) return text;
  let cut = '';
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += wide.test(segment) ? 2 : 1;
    if (width > columns - 1) break;
    cut += segment;
  }
  return columns < 1 ? '' : `${cut}…`;
}

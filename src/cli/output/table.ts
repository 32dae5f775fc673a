import { printable, type Style, styled } from './terminal-text.ts';

export interface Column<Row> {
  /** The heading, in capitals. */
  readonly title: string;
  /** The text of a row; undefined is printed as `–`. The table itself makes it printable. */
  readonly cell: (row: Row) => string | undefined;
  readonly align?: 'right';
  readonly style?: (row: Row) => Style | undefined;
}

const gap = '  ';

/**
 * A table whose columns are as wide as the cells of the rows that it is made for. Later rows keep these widths, so that an
 * endless listing can be printed as it arrives.
 */
export class Table<Row> {
  readonly #columns: readonly Column<Row>[];
  readonly #widths: readonly number[];
  readonly #columnsMax: number;

  /** @param columnsMax the width of the terminal; Infinity cuts nothing */
  constructor(columns: readonly Column<Row>[], measured: readonly Row[], columnsMax: number) {
    this.#columns = columns;
    this.#columnsMax = columnsMax;
    this.#widths = columns.map((column) =>
      Math.max(textWidth(column.title), ...measured.map((row) => textWidth(cellText(column, row)))),
    );
  }

  header(): string {
    return this.#line(this.#columns.map(({ title }) => ({ text: title, style: 'bold' })));
  }

  line(row: Row): string {
    return this.#line(
      this.#columns.map((column) => ({ text: cellText(column, row), style: column.style?.(row) })),
    );
  }

  /** Cuts at the width of the terminal before it styles, because styles take no columns. */
  #line(cells: readonly { readonly text: string; readonly style: Style | undefined }[]): string {
    let left = this.#columnsMax;
    let line = '';
    for (const [index, { text, style }] of cells.entries()) {
      const isLast = index === cells.length - 1;
      const padded =
        index === 0 ? this.#padded(index, text, isLast) : gap + this.#padded(index, text, isLast);
      const cut = cutTo(left, padded);
      line += style === undefined ? cut : styled(style, cut);
      left -= textWidth(cut);
      if (left <= 0 || cut !== padded) break;
    }
    return `${line}\n`;
  }

  #padded(index: number, text: string, isLast: boolean): string {
    const spaces = ' '.repeat(Math.max(0, (this.#widths[index] ?? 0) - textWidth(text)));
    if (this.#columns[index]?.align === 'right') return spaces + text;
    return isLast ? text : text + spaces;
  }
}

function cellText<Row>({ cell }: Column<Row>, row: Row): string {
  return printable(cell(row) ?? '–');
}

/** Printable ASCII, which needs no segmentation. */
const plain = /^[\x20-\x7e]*$/;
/** Scripts and symbols that take two columns of a terminal. */
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u;
const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The columns that a text takes on a terminal. @param text without control characters */
export function textWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The text, or its beginning and an ellipsis, in at most this many columns. */
export function cutTo(columns: number, text: string): string {
  if (textWidth(text) <= columns) return text;
  let cut = '';
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += wide.test(segment) ? 2 : 1;
    if (width > columns - 1) break;
    cut += segment;
  }
  return columns < 1 ? '' : `${cut}…`;
}

/** A measured cost at every size of the table, drawn as one chart. */
export interface Curve {
  /** The chart's file name, without its extension. */
  readonly file: string;
  readonly title: string;
  /** What a reader needs to know to understand the chart. */
  readonly subtitle: string;
  /** Logarithmic if the figures differ by powers of ten; otherwise linear, from zero. */
  readonly scale: 'log' | 'linear';
  /** The first is ours. */
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface Point {
  readonly items: number;
  /** One per round. */
  readonly figures: readonly number[];
}

/** Figures of several sides, drawn as horizontal bars from zero. */
export interface BarChart {
  /** The chart's file name, without its extension. */
  readonly file: string;
  readonly title: string;
  /** What a reader needs to know to understand the chart. */
  readonly subtitle: string;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  /** One per round. */
  readonly figures: readonly number[];
}

/** How we compare with others, row by row: a factor above 1 where we are better. */
export interface RatioPlot {
  /** The chart's file name, without its extension. */
  readonly file: string;
  readonly title: string;
  readonly subtitle: string;
  readonly rows: readonly string[];
  readonly series: readonly string[];
  readonly points: readonly RatioPoint[];
}

export interface RatioPoint {
  readonly row: string;
  readonly series: string;
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

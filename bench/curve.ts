/** What something costs at every size of the table; drawn as one picture. */
export interface Curve {
  /** The picture's name, without its ending. */
  readonly file: string;
  readonly title: string;
  /** What the reader must know to read it. */
  readonly subtitle: string;
  /** By powers of ten, where figures lie far apart; from zero otherwise. */
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

/** The sizes of the tables that the cases measure. */
export interface Sizes {
  readonly small: number;
  readonly medium: number;
  readonly large: number;
  readonly huge: number;
  /** The sizes of the curves, by powers of ten. */
  readonly powers: readonly number[];
}

/** The sizes that the goals refer to. */
export const fullSizes: Sizes = {
  small: 10_000,
  medium: 100_000,
  large: 1_000_000,
  huge: 10_000_000,
  powers: [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000],
};

/** A hundredth, to check in a minute or two that a case works; the figures mean nothing. */
export const quickSizes: Sizes = {
  small: 100,
  medium: 1_000,
  large: 10_000,
  huge: 100_000,
  powers: [10, 100, 1_000, 10_000, 100_000],
};

/** How large the tables are that the cases measure. */
export interface Sizes {
  readonly small: number;
  readonly medium: number;
  readonly large: number;
  readonly huge: number;
  /** From which to which the curves go, by powers of ten. */
  readonly powers: readonly number[];
}

/** The sizes that the goals speak of. */
export const fullSizes: Sizes = {
  small: 10_000,
  medium: 100_000,
  large: 1_000_000,
  huge: 10_000_000,
  powers: [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000],
};

/** A hundredth, to see in a minute or two that a case works; its figures judge nothing. */
export const quickSizes: Sizes = {
  small: 100,
  medium: 1_000,
  large: 10_000,
  huge: 100_000,
  powers: [10, 100, 1_000, 10_000, 100_000],
};

import type { Curve } from './curve.ts';
import type { Environment } from './environment.ts';
import type { Fixtures } from './fixtures.ts';
import type { RatioPlot } from './ratios.ts';
import type { Sizes } from './sizes.ts';

/** A measurement that `node bench/run.ts` can make. Each case is one file in `cases/`, listed in `cases.ts`. */
export interface Case {
  readonly name: string;
  /** What is measured, in one sentence for the report. */
  readonly summary: string;
  /** Measured only when it is named: it takes as long as all others together. */
  readonly isAlone?: boolean;
  /** Throws when there is nothing valid to report: a response was wrong, or a process did not start. */
  measure(environment: Environment, conditions: Conditions): Promise<Measured>;
}

export interface Conditions {
  readonly rounds: number;
  /** Seconds of load per measurement. */
  readonly seconds: number;
  readonly sizes: Sizes;
  /** Tables that several cases read. A case that starts the service on them stops it before the case ends. */
  readonly fixtures: Fixtures;
  /** Passed to `counterfoil serve` in every case that starts the service. */
  readonly serveArguments: readonly string[];
  /** Shows the progress of the measurement. */
  readonly log: (line: string) => void;
}

export interface Measured {
  readonly rows: readonly Row[];
  /** What a reader needs to judge the figures, as whole sentences. */
  readonly remarks: readonly string[];
  /** Drawn, not judged. */
  readonly curves?: readonly Curve[];
  /** A page of its own, instead of rows in RESULTS.md. */
  readonly page?: Page;
}

export interface Page {
  /** Its name in `bench/`. */
  readonly file: string;
  readonly title: string;
  /** Markdown. */
  readonly body: string;
  readonly plots: readonly RatioPlot[];
}

/** One line of the report. */
export type Row = MeasuredRow | MissingRow;

export interface MeasuredRow {
  readonly name: string;
  readonly unit: Unit;
  /** One figure per round. */
  readonly ours: readonly number[];
  /** What the service is compared with: one figure for each of the same rounds. */
  readonly yardstick?: Yardstick;
  readonly goal: Goal;
}

export interface MissingRow {
  readonly name: string;
  /** The yardstick that it would be compared with. */
  readonly against?: string;
  /** Why there is no figure: a program that is not installed, a feature that the service does not have. */
  readonly missing: string;
  readonly goal: Goal;
}

export interface Yardstick {
  readonly name: string;
  readonly figures: readonly number[];
}

/** `t` is Welch's statistic. */
export type Unit = 'requests/s' | 'items/s' | 'µs' | 'ms' | 'MB' | 'B' | 't';

export interface Goal {
  /** What is judged: the median of our figures, or of their ratio or difference to the yardstick within each round. */
  readonly of: 'figure' | 'ratio' | 'difference';
  /** Whether the bound is a minimum or a maximum. */
  readonly side: 'least' | 'most';
  /** The required level. Without one, the figure is only reported. */
  readonly bound?: number;
  /** A better level that is not required. */
  readonly aim?: number;
}

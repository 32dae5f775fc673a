import type { Curve } from './curve.ts';
import type { Sizes } from './sizes.ts';
import type { Stock } from './stock.ts';
import type { Workplace } from './workplace.ts';

/** What `node bench/run.ts` can measure; each case is one file in `cases/`, listed in `run.ts`. */
export interface Case {
  readonly name: string;
  /** What is measured, in one sentence for the report. */
  readonly summary: string;
  /** Throws when what it would report is no measurement: a wrong answer, a process that did not start. */
  measure(workplace: Workplace, conditions: Conditions): Promise<Measured>;
}

export interface Conditions {
  readonly rounds: number;
  /** Seconds of load per measurement. */
  readonly seconds: number;
  readonly sizes: Sizes;
  /** Tables that several cases read; whoever starts the service on it stops it before the case ends. */
  readonly stock: Stock;
  /** Handed to `counterfoil serve` in every case that starts the service. */
  readonly serveArguments: readonly string[];
  /** Shows progress while it is measured. */
  readonly tell: (line: string) => void;
}

export interface Measured {
  readonly rows: readonly Row[];
  /** What a reader needs to judge the figures, as whole sentences. */
  readonly remarks: readonly string[];
  /** What is drawn, not judged. */
  readonly curves?: readonly Curve[];
}

/** One line of the report. */
export type Row = MeasuredRow | MissingRow;

export interface MeasuredRow {
  readonly name: string;
  readonly unit: Unit;
  /** One figure per round. */
  readonly ours: readonly number[];
  /** What stands beside us, with a figure for each of the same rounds. */
  readonly yardstick?: Yardstick;
  readonly goal: Goal;
}

export interface MissingRow {
  readonly name: string;
  /** The yardstick that it would have. */
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
export type Unit = 'requests/s' | 'ms' | 'MB' | 't';

export interface Goal {
  /** Judged is the median of our figures, or of what each is to the yardstick's of the same round. */
  readonly of: 'figure' | 'ratio' | 'difference';
  /** Whether a good figure is at least or at most the bound. */
  readonly side: 'least' | 'most';
  /** What must be reached; without one the figure is only reported. */
  readonly bound?: number;
  /** What is hoped for beyond it. */
  readonly aim?: number;
}

import type { Workplace } from './workplace.ts';

/** What `node bench/run.ts` can measure; each case is one file in `cases/`, listed in `run.ts`. */
export interface Case {
  readonly name: string;
  /** What is measured, in one sentence for the report. */
  readonly summary: string;
  readonly goal: Goal;
  /** Throws when what it would report is no measurement: a wrong answer, a process that did not start. */
  measure(workplace: Workplace, conditions: Conditions): Promise<Measured>;
}

export type Goal =
  /** The median of the ratios ours : yardstick, each taken within one round. */
  | { readonly kind: 'ratio'; readonly least: number }
  /** The median of our own figures, where nothing stands beside us. */
  | { readonly kind: 'duration'; readonly mostMs: number };

export interface Conditions {
  readonly rounds: number;
  /** Seconds of load per measurement. */
  readonly seconds: number;
  /** Shows progress while it is measured. */
  readonly tell: (line: string) => void;
}

export interface Measured {
  readonly unit: 'requests/s' | 'ms';
  /** One figure per round. */
  readonly ours: readonly number[];
  /** What stands beside us, with a figure for each of the same rounds. */
  readonly yardstick?: { readonly name: string; readonly figures: readonly number[] };
  /** What a reader needs to judge the figures, as whole sentences. */
  readonly remarks: readonly string[];
}

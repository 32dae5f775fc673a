import type { Goal, MeasuredRow, Unit } from './case.ts';
import { type Spread, shortNumber, spreadOf } from './measure.ts';

/**
 * The spread that a row is judged by: of our figures, or of their ratio or difference to the yardstick of the round.
 */
export function judgedOf({ ours, yardstick, goal }: MeasuredRow): Spread {
  if (goal.of === 'figure' || yardstick === undefined) return spreadOf(ours);
  const yardstickOf = (round: number) => yardstick.figures[round] as number;
  return spreadOf(
    ours.map((figure, round) =>
      goal.of === 'ratio' ? figure / yardstickOf(round) : figure - yardstickOf(round),
    ),
  );
}

export function judgedText({ goal, unit }: MeasuredRow, { median, min, max }: Spread): string {
  if (goal.of === 'figure') return '–';
  const text = (figure: number) => (goal.of === 'ratio' ? figure.toFixed(3) : signed(figure));
  const suffix = goal.of === 'ratio' ? ' ×' : ` ${unit}`;
  return `${text(median)}${suffix} [${text(min)} – ${text(max)}]`;
}

/** `≥ 0.35 × (aim 0.45)` */
export function goalText({ of, side, bound, aim }: Goal, unit?: Unit): string {
  const sign = side === 'least' ? '≥' : '≤';
  const text = (level: number) =>
    of === 'ratio' ? level.toFixed(2) : `${of === 'difference' ? '+' : ''}${level}`;
  const suffix = of === 'ratio' ? ' ×' : unit === undefined ? '' : ` ${unit}`;
  if (bound !== undefined)
    return `${sign} ${text(bound)}${suffix}${aim === undefined ? '' : ` (aim ${text(aim)})`}`;
  return aim === undefined ? 'reported' : `reported (aim ${sign} ${text(aim)}${suffix})`;
}

/** `yes` or `no` for the goal. An aim is reported separately, because it is not required. */
export function verdictOf({ side, bound, aim }: Goal, median: number): string {
  const reaches = (level: number) => (side === 'least' ? median >= level : median <= level);
  const aimed = aim === undefined ? undefined : reaches(aim);
  if (bound === undefined) return aimed === undefined ? '–' : `aim ${aimed ? 'reached' : 'missed'}`;
  if (!reaches(bound)) return 'no';
  return aimed === undefined ? 'yes' : `yes, aim ${aimed ? 'reached' : 'missed'}`;
}

function signed(figure: number): string {
  return `${figure < 0 ? '−' : '+'}${shortNumber(Math.abs(figure))}`;
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Conditions } from './case.ts';

/** By then Node has compiled what is hot; the first seconds of a process are not what its users meet. */
const warmUpSeconds = 2;

/** What a side still has to do behind its last answer must not meet the next side. */
const pauseMs = 250;

/** One measurement of one side. */
export interface Round {
  /** Unlike that of any other round of the case: names what a round must have for itself. */
  readonly label: string;
  /** 0 is the warm-up. */
  readonly number: number;
  readonly seconds: number;
}

/** The labels of all rounds, the warm-up's first, for what has to be made beforehand. */
export function roundLabels({ rounds }: Conditions): string[] {
  return Array.from({ length: rounds + 1 }, (_, number) => roundLabel(number));
}

function roundLabel(number: number): string {
  return number === 0 ? 'warm-up' : `round-${number}`;
}

/**
 * Measures all sides in turns, so that what else the machine does meets them alike: a ratio within a round holds
 * where absolute figures drift from one minute to the next.
 *
 * @returns the figures of each side, one per round
 */
export async function compareInRounds<Side extends string>(
  conditions: Conditions,
  sides: Readonly<Record<Side, (round: Round) => Promise<number>>>,
): Promise<Record<Side, number[]>> {
  const names = Object.keys(sides) as Side[];
  const warmUp: Round = {
    label: roundLabel(0),
    number: 0,
    seconds: Math.min(warmUpSeconds, conditions.seconds),
  };
  for (const name of names) {
    await sides[name](warmUp);
    await sleep(pauseMs);
  }

  const figures = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Side, number[]>;
  for (let number = 1; number <= conditions.rounds; number++) {
    const round: Round = { label: roundLabel(number), number, seconds: conditions.seconds };
    for (const name of names) {
      figures[name].push(await sides[name](round));
      await sleep(pauseMs);
    }
    const told = names.map((name) => `${name} ${shortNumber(figures[name].at(-1) as number)}`);
    conditions.tell(`  ${round.label}: ${told.join(', ')}`);
  }
  return figures;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((one, other) => one - other);
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1);
  return {
    median: middle.reduce((sum, figure) => sum + figure, 0) / middle.length,
    min: sorted[0] as number,
    max: sorted.at(-1) as number,
  };
}

/** With as many digits as a figure of a noisy machine deserves. */
export function shortNumber(figure: number): string {
  if (Math.abs(figure) >= 100) return Math.round(figure).toLocaleString('en');
  return Math.abs(figure) >= 10 ? figure.toFixed(1) : figure.toFixed(2);
}

/** A size as it stands in the names of rows. */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

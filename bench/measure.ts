import { setTimeout as sleep } from 'node:timers/promises';
import type { Conditions } from './case.ts';

/** By then Node has compiled the hot code. The first seconds of a process are not representative. */
const warmUpSeconds = 2;

/** Lets a side finish the work after its last response before the next side is measured. */
const pauseMs = 250;

/** One measurement of one side. */
export interface Round {
  /** Unique within the case; names the tables that only this round uses. */
  readonly label: string;
  /** 0 is the warm-up. */
  readonly number: number;
  readonly seconds: number;
}

/** The labels of all rounds, the warm-up first, for tables that are created before the load. */
export function roundLabels({ rounds }: Conditions): string[] {
  return Array.from({ length: rounds + 1 }, (_, number) => roundLabel(number));
}

function roundLabel(number: number): string {
  return number === 0 ? 'warm-up' : `round-${number}`;
}

/**
 * Measures all sides in turn, so that other work on the machine affects them alike: the ratio within a round is stable
 * even if the absolute figures drift from one minute to the next.
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
    const texts = names.map((name) => `${name} ${shortNumber(figures[name].at(-1) as number)}`);
    conditions.log(`  ${round.label}: ${texts.join(', ')}`);
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

/** Two or three digits: the figures of a noisy machine have no more precision. */
export function shortNumber(figure: number): string {
  if (Math.abs(figure) >= 100) return Math.round(figure).toLocaleString('en');
  return Math.abs(figure) >= 10 ? figure.toFixed(1) : figure.toFixed(2);
}

/** A size as the names of rows show it. */
export function countText(count: number): string {
  return count.toLocaleString('en');
}

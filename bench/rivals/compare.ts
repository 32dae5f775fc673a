import type { Conditions } from '../case.ts';
import type { Program } from '../environment.ts';
import { compareInRounds, type Round } from '../measure.ts';
import { cpuUs, processesOfAll, untilIdle } from '../resources.ts';

/** One contender's part in a row of the report. */
export interface Side {
  readonly name: string;
  readonly programs: readonly Program[];
  /** Throws when it cannot do this. */
  readonly measure: (round: Round) => Promise<Work>;
}

export interface Work {
  readonly requests: number;
  readonly requestsPerSecond: number;
}

/** One figure per round each, or the reason why there are none. */
export type Cell = Figures | { readonly missing: string };

export interface Figures {
  readonly perSecond: readonly number[];
  readonly cpuUs: readonly number[];
}

/**
 * Measures all sides in turn in every round, and the CPU time of each during its load. A side that fails once is not
 * measured again; the others are measured nevertheless.
 */
export async function compareSides(
  conditions: Conditions,
  sides: readonly Side[],
): Promise<ReadonlyMap<string, Cell>> {
  const missing = new Map<string, string>();
  const perRequest = new Map<string, number[]>();
  const measureOne = async ({ name, programs, measure }: Side, round: Round): Promise<number> => {
    if (missing.has(name)) return Number.NaN;
    const processes = processesOfAll(programs);
    try {
      const before = cpuUs(processes);
      const { requests, requestsPerSecond } = await measure(round);
      const used = cpuUs(processes) - before;
      if (round.number > 0) perRequest.set(name, [...(perRequest.get(name) ?? []), used / requests]);
      await untilIdle(processes);
      return requestsPerSecond;
    } catch (error) {
      missing.set(name, firstLineOf(error));
      return Number.NaN;
    }
  };
  const perSecond = await compareInRounds<string>(
    conditions,
    Object.fromEntries(sides.map((side) => [side.name, (round: Round) => measureOne(side, round)])),
  );
  return new Map(
    sides.map(({ name }): [string, Cell] => {
      const reason = missing.get(name);
      if (reason !== undefined) return [name, { missing: reason }];
      return [name, { perSecond: perSecond[name] ?? [], cpuUs: perRequest.get(name) ?? [] }];
    }),
  );
}

/** Enough to see what went wrong. */
const reasonCharactersMax = 160;

export function firstLineOf(error: unknown): string {
  return ((error as Error).message.split('\n')[0] ?? '').slice(0, reasonCharactersMax);
}

import type { Conditions } from './case.ts';
import type { Workplace } from './workplace.ts';

/** One thread is enough to keep a server of one thread busy, and leaves it the rest of a small machine. */
const loadThreads = 1;
const connections = 64;
/** By then Node has compiled what is hot; the first seconds of a process are not what its users meet. */
const warmUpSeconds = 2;

export interface Load {
  readonly url: string;
  readonly seconds: number;
  /** Path of a wrk script and what is handed to it; plain GET without one. */
  readonly script?: { readonly path: string; readonly args: readonly string[] };
}

export interface LoadOutcome {
  readonly requests: number;
  readonly requestsPerSecond: number;
}

/** Puts a server under load by wrk. Throws when any answer was missing or not the expected one. */
export async function putUnderLoad(workplace: Workplace, load: Load): Promise<LoadOutcome> {
  const { url, seconds, script } = load;
  const text = await workplace.run('wrk', [
    `-t${loadThreads}`,
    `-c${connections}`,
    `-d${seconds}s`,
    ...(script === undefined ? [url] : ['-s', script.path, url, '--', ...script.args]),
  ]);
  const wrong = /^\s*(?:Socket errors|Non-2xx or 3xx responses|Answers other than 200): .*$/gm;
  const complaints = text.match(wrong);
  if (complaints !== null) throw new Error(`${url}: ${complaints.map((line) => line.trim()).join('; ')}`);
  const requests = Number(/(\d+) requests in /.exec(text)?.[1]);
  const requestsPerSecond = Number(/^Requests\/sec:\s+([\d.]+)$/m.exec(text)?.[1]);
  if (!(requestsPerSecond > 0)) throw new Error(`${url}: wrk counted no requests\n${text}`);
  return { requests, requestsPerSecond };
}

/** One measurement of one side. */
export interface Round {
  /** Unlike that of any other round of the case: names what a round must have for itself. */
  readonly label: string;
  /** 0 is the warm-up. */
  readonly number: number;
  readonly seconds: number;
}

export interface Sides {
  /** @returns requests per second */
  readonly yardstick: (round: Round) => Promise<number>;
  /** @returns requests per second */
  readonly ours: (round: Round) => Promise<number>;
}

export interface Figures {
  readonly yardstick: readonly number[];
  readonly ours: readonly number[];
}

/**
 * Measures both sides in turns, so that what else the machine does meets both alike: a ratio within a round holds
 * where absolute figures drift from one minute to the next.
 */
export async function compareInRounds(conditions: Conditions, sides: Sides): Promise<Figures> {
  const warmUp: Round = { label: 'warm-up', number: 0, seconds: warmUpSeconds };
  await sides.yardstick(warmUp);
  await sides.ours(warmUp);

  const figures = { yardstick: [] as number[], ours: [] as number[] };
  for (let number = 1; number <= conditions.rounds; number++) {
    const round: Round = { label: `round-${number}`, number, seconds: conditions.seconds };
    const yardstick = await sides.yardstick(round);
    const ours = await sides.ours(round);
    figures.yardstick.push(yardstick);
    figures.ours.push(ours);
    const rates = `yardstick ${Math.round(yardstick)}/s, ours ${Math.round(ours)}/s`;
    conditions.tell(`  ${round.label}: ${rates}, ratio ${(ours / yardstick).toFixed(3)}`);
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

import type { TestContext } from 'node:test';

/** Returns numbers from 0 to 1, which depend only on a seed. */
export type Random = () => number;

/** The seed of a test: the value of `SEED`, or a new one. It is printed, so that a failure can be repeated. */
export function seedOf(t: TestContext): number {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
  t.diagnostic(`SEED=${seed}`);
  return seed;
}

/** Mulberry32: the same seed gives the same numbers. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from `from` to `to`, both included. */
export function between(random: Random, from: number, to: number): number {
  return from + Math.floor(random() * (to - from + 1));
}

export function pick<T>(random: Random, from: readonly T[]): T {
  const picked = from[Math.floor(random() * from.length)];
  if (picked === undefined) throw new RangeError('nothing to pick from');
  return picked;
}

/** The same elements in a random order (Fisher-Yates). */
export function shuffled<T>(random: Random, elements: readonly T[]): T[] {
  const result = [...elements];
  for (let last = result.length - 1; last > 0; last--) {
    const other = between(random, 0, last);
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}

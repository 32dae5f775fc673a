/** How far the tests go: what every run does, and what `LONG=1` asks for. */

/** The full counts of the promises; without it a test takes the share of them that fits into every run. */
export const isLong = process.env.LONG === '1';

export function count({ short, long }: { readonly short: number; readonly long: number }): number {
  return isLong ? long : short;
}

/** Processes that share a port and a data folder in the tests of several; `WORKERS` asks for another number. */
export const workers = Number(process.env.WORKERS ?? 2);

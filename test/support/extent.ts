/** The extent of a test run: short, or long with `LONG=1`. */

/** Runs the full counts of the promises; a short run does only a part of them. */
export const isLong = process.env.LONG === '1';

export function count({ short, long }: { readonly short: number; readonly long: number }): number {
  return isLong ? long : short;
}

/** The number of processes that share a port and a data folder in tests of several workers; `WORKERS` sets another. */
export const workers = Number(process.env.WORKERS ?? 2);

/** Does a work for each of many, a few at a time. Rejects with the first error. @returns the results in the order of `all` */
export async function inTurns<Each, Result>(
  all: readonly Each[],
  atOnceMax: number,
  work: (each: Each) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < all.length) {
      const index = next++;
      results[index] = await work(all[index] as Each);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnceMax, all.length) }, worker));
  return results;
}

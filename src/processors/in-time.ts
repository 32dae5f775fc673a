/** Resolves with the result of `work`, or with `late` after the time-out. The work itself continues. */
export function inTime<Result>(work: Promise<Result>, timeoutMs: number, late: Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => resolve(late), timeoutMs).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timeout));
  });
}

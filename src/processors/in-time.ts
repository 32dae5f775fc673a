/** What a work gives, or `late` when it has not given it in time; the work itself is not ended. */
export function inTime<Result>(work: Promise<Result>, timeoutMs: number, late: Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timeout = setTimeout(() => resolve(late), timeoutMs).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timeout));
  });
}

const progressMs = 100;
const barWidth = 30;

/** Shown only on a terminal. */
export class ProgressBar {
  readonly #isShown = process.stderr.isTTY;
  #nextAt = performance.now();

  /** @param total undefined if unknown */
  show(done: number, total: number | undefined, stage = ''): void {
    if (!this.#isShown || performance.now() < this.#nextAt) return;
    this.#nextAt = performance.now() + progressMs;
    const text = total === undefined ? `${done} items` : `${barOf(done, total)} of ${total} items`;
    process.stderr.write(`\r\x1b[K${text}${stage === '' ? '' : ` ${stage}`}`);
  }

  clear(): void {
    if (this.#isShown) process.stderr.write('\r\x1b[K');
  }
}

function barOf(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  return `${bar} ${Math.floor(share * 100)} %`;
}

/** How often a progress bar is drawn. */
const progressMs = 100;

export type Progress = (done: number, total: number) => void;

const barWidth = 30;

/** Shown only on a terminal: what is done, how fast, and the time that is left. */
export class ProgressBar {
  readonly #isShown = process.stderr.isTTY;
  #nextAt = performance.now();
  #stage = '';
  /** Of the stage. */
  #beganAt = performance.now();

  /** @param total undefined if unknown */
  show(done: number, total: number | undefined, stage = ''): void {
    const now = performance.now();
    if (stage !== this.#stage) [this.#stage, this.#beganAt] = [stage, now];
    if (!this.#isShown || now < this.#nextAt) return;
    this.#nextAt = now + progressMs;
    const text = total === undefined ? `${done} items` : `${drawnBar(done, total)} of ${total} items`;
    const pace = speed(done, total, now - this.#beganAt);
    process.stderr.write(`\r\x1b[K${text}${stage === '' ? '' : ` ${stage}`}${pace}`);
  }

  clear(): void {
    if (this.#isShown) process.stderr.write('\r\x1b[K');
  }
}

/** Shows the progress of the work until it ends. */
export async function withProgress<Result>(
  work: (progress: Progress) => Promise<Result>,
  stage = '',
): Promise<Result> {
  const bar = new ProgressBar();
  try {
    return await work((done, total) => bar.show(done, total, stage));
  } finally {
    bar.clear();
  }
}

function drawnBar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const filled = Math.round(share * barWidth);
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  return `${bar} ${Math.floor(share * 100)} %`;
}

/** `, 98000/s, 1:05 left` */
function speed(done: number, total: number | undefined, ms: number): string {
  const perSecond = (done / ms) * 1_000;
  if (!Number.isFinite(perSecond) || perSecond < 1) return '';
  const rate = `, ${Math.round(perSecond)}/s`;
  if (total === undefined) return rate;
  const seconds = Math.max(0, Math.ceil((total - done) / perSecond));
  return `${rate}, ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`;
}

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { count } from '../support/extent.ts';
import { growsLikeItsSize, type Report, type Task } from '../support/http/linear-checks-process.ts';
import { pureChecks } from '../support/http/pure-checks.ts';
import { requestPlaces } from '../support/http/request-places.ts';
import { seedOf } from '../support/random.ts';

const searchMs = count({ short: 30, long: 4_000 });
/** A measurement of a linear check takes some milliseconds. One that takes this long has frozen the process. */
const frozenMs = 10_000;

let running: Checker | undefined;
after(() => running?.kill());

suite('the time of a check is proportional to the length of the text', { concurrency: false }, () => {
  for (const name of [...Object.keys(pureChecks), ...Object.keys(requestPlaces)]) {
    test(name, async (t) => {
      for await (const report of reports({ name, seed: seedOf(t), searchMs })) {
        if (report.kind !== 'measured') continue;
        const { text, sizes, ms } = report;
        const [small, large] = ms.map((each) => each.toFixed(2));
        const what = `${JSON.stringify(text)}: ${small} ms at ${sizes.small} bytes, ${large} ms at ${sizes.large}`;
        t.diagnostic(what);
        assert.ok(growsLikeItsSize(ms, sizes), what);
      }
    });
  }
});

/** Runs a task in the checking process. Throws with the last text when the process freezes. */
async function* reports(task: Task): AsyncGenerator<Report> {
  running ??= new Checker();
  const checker = running;
  checker.begin(task);
  for (;;) {
    const report = await checker.next();
    if (report === undefined) {
      checker.kill();
      running = undefined;
      assert.fail(`frozen for ${frozenMs} ms, or ended, after ${JSON.stringify(checker.last)}`);
    }
    if (report.kind !== 'measuring') yield report;
    if (report.kind === 'done') return;
  }
}

/** The process that measures, with a queue of its reports. */
class Checker {
  readonly #child = fork(join(import.meta.dirname, '../support/http/linear-checks-process.ts'), {
    execArgv: [],
  });
  readonly #waiting: Report[] = [];
  #wake: () => void = () => undefined;
  last: Report | undefined;

  constructor() {
    this.#child.on('message', (report: Report) => {
      this.last = report;
      this.#waiting.push(report);
      this.#wake();
    });
  }

  begin(task: Task): void {
    this.#child.send(task);
  }

  /** The next report; undefined when none comes in time. */
  async next(): Promise<Report | undefined> {
    if (this.#waiting.length === 0) {
      const frozen = new AbortController();
      const waiting = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([waiting, sleep(frozenMs, undefined, frozen).catch(() => undefined)]);
      frozen.abort();
    }
    return this.#waiting.shift();
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

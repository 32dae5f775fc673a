import { Worker } from 'node:worker_threads';

/**
 * Preloaded into `store copy` (`node --import`), it kills the command at one of the flushes of its target. `KILL_AT` is
 * `before 2` (before the second flush), `after 2` (after it, before it is reported) or `before last` (after the
 * comparison, before the marker is removed).
 */
const [when, number] = (process.env.KILL_AT ?? '').split(' ');
let flushes = 0;

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (this: Worker, message: unknown): void {
  const isCopying = typeof message === 'string' && message.includes('"service:copying"');
  // The check that a table is possible does not count.
  const isStep = isCopying && !message.includes('"id":"none"');
  const isLast = isStep && message.includes('"kind":"delete"');
  if (isStep) flushes++;
  const isIt = number === 'last' ? isLast : isStep && flushes === Number(number);
  if (isIt && when === 'before') end();
  if (isIt && when === 'after') this.prependOnceListener('message', end);
  post.call(this, message);
};

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

import { Worker } from 'node:worker_threads';

/**
 * Preloaded into `store copy` (`node --import`), it ends that by SIGKILL at one of the flushes of its target, as `KILL_AT`
 * says: `before 2` when the second one is about to be made, `after 2` when it is on disk and nobody knows it yet,
 * `before last` when all is compared and the marker is about to go.
 */
const [when, number] = (process.env.KILL_AT ?? '').split(' ');
let flushes = 0;

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (this: Worker, message: unknown): void {
  const isCopying = typeof message === 'string' && message.includes('"service:copying"');
  // What only asks whether there can be a table is no step.
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

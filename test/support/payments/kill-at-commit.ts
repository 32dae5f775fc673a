import { Worker } from 'node:worker_threads';

/**
 * Preloaded into a service (`node --import`), it kills the service at one of its commits of payments. With
 * `KILL_AT=before 2` that is just before the second commit; with `after 2` the commit is on disk, and not yet reported.
 */
const [when, number] = (process.env.KILL_AT ?? '').split(' ');
let commits = 0;

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (this: Worker, message: unknown): void {
  const isPayment = typeof message === 'string' && message.includes('"service:payments"');
  const isIt = isPayment && ++commits === Number(number);
  if (isIt && when === 'before') end();
  if (isIt && when === 'after') this.prependOnceListener('message', end);
  post.call(this, message);
};

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

import { Worker } from 'node:worker_threads';

/**
 * Preloaded into a service (`node --import`), it ends that by SIGKILL at one of its commits of payments, as `KILL_AT`
 * says: `before 2` when the second one is about to be made, `after 2` when it is on disk and nobody knows it yet.
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

import { Worker } from 'node:worker_threads';

/**
 * Preloaded into a service (`node --import`), it ends that by SIGKILL at one of its commits, as `KILL_AT` says:
 * `before 2` when the second one is about to be made, `after 2` when it is on disk and nobody knows it yet. Commits of
 * the service's own housekeeping do not count.
 */
const [when, number] = (process.env.KILL_AT ?? '').split(' ');
const housekeeping = new Set(['heartbeats', 'access', 'api-key-uses', 'sealing', 'signing-keys']);
let commits = 0;

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (this: Worker, message: unknown): void {
  const isIt = isCounted(message) && ++commits === Number(number);
  if (isIt && when === 'before') end();
  if (isIt && when === 'after') this.prependOnceListener('message', end);
  post.call(this, message);
};

function isCounted(message: unknown): boolean {
  if (typeof message !== 'string') return false;
  const spaces = Array.from(message.matchAll(/"service:([a-z-]+)"/g), ([, space = '']) => space);
  return spaces.some((space) => !housekeeping.has(space));
}

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

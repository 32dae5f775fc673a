import { Worker } from 'node:worker_threads';

/**
 * Preloaded into a service (`node --import`), this module kills it with SIGKILL at the commit that `KILL_AT` names:
 * `before 2` before the second commit, and `after 2` when that is on disk and the service does not know it yet. Commits
 * of the service's own housekeeping do not count.
 */
const [when, number] = (process.env.KILL_AT ?? '').split(' ');
const housekeeping = new Set(['heartbeats', 'access', 'api-key-uses', 'sealing', 'signing-keys']);
let commits = 0;

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (this: Worker, message: unknown): void {
  const isTarget = isCounted(message) && ++commits === Number(number);
  if (isTarget && when === 'before') end();
  if (isTarget && when === 'after') this.prependOnceListener('message', end);
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

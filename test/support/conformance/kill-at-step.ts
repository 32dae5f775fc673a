import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Worker } from 'node:worker_threads';

/**
 * Preloaded into a command (`node --import`), it kills the command at one of its steps. `KILL_AT` consists of `before`
 * or `after`, the step `rename` (of the key file), `sealing` or `integrations` (a commit of that space), and its
 * number.
 */
const [when, what, number] = (process.env.KILL_AT ?? '').split(' ');
let steps = 0;

const fs = createRequire(import.meta.url)('node:fs') as typeof import('node:fs');
const rename = fs.renameSync;
fs.renameSync = (from, to) => {
  const isIt = what === 'rename' && ++steps === Number(number);
  if (isIt && when === 'before') end();
  rename(from, to);
  if (isIt) end();
};
syncBuiltinESMExports();

const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (this: Worker, message: unknown): void {
  const isCommit = typeof message === 'string' && message.includes(`"service:${what}"`);
  const isIt = isCommit && ++steps === Number(number);
  if (isIt && when === 'before') end();
  if (isIt && when === 'after') this.prependOnceListener('message', end);
  post.call(this, message);
};

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

import { createRequire, syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

/** The spaces that a service also writes to without a request. */
const housekeeping = new Set(['heartbeats', 'access', 'api-key-uses', 'sealing', 'signing-keys']);

/**
 * The environment of a process that kills itself with SIGKILL at a step: `before` or `after`, what it does, and for which time.
 * - `after payments 2`: the second commit that writes to `service:payments` is on disk, and not yet reported.
 * - `before request 1`: a commit to any space but those of the service's own housekeeping.
 * - `before copying last`: the first commit to the space that deletes.
 * - `after rename 1`: the rename of a file.
 */
export function killedAt(step: string): Record<string, string> {
  return { NODE_OPTIONS: `--import ${fileURLToPath(import.meta.url)}`, KILL_AT: step };
}

const { KILL_AT } = process.env;
// The process that is to be killed preloads this module; tests import it.
if (KILL_AT !== undefined) {
  const [when, what = '', number] = KILL_AT.split(' ');
  let steps = 0;
  const isReached = (isLast: boolean) => {
    steps++;
    return number === 'last' ? isLast : steps === Number(number);
  };
  if (what === 'rename') watchRenames(when, isReached);
  else
    watchCommits(
      when,
      (message) => writesTo(message, what) && isReached(message.includes('"kind":"delete"')),
    );
}

function watchCommits(when: string | undefined, isIt: (message: string) => boolean): void {
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (this: Worker, message: unknown): void {
    const isTarget = typeof message === 'string' && isIt(message);
    if (isTarget && when === 'before') end();
    if (isTarget && when === 'after') this.prependOnceListener('message', end);
    post.call(this, message);
  };
}

function writesTo(message: string, what: string): boolean {
  // `store copy` first writes this id, to see whether the target takes a table.
  if (message.includes('"id":"none"')) return false;
  const spaces = Array.from(message.matchAll(/"service:([a-z-]+)"/g), ([, space = '']) => space);
  return what === 'request' ? spaces.some((space) => !housekeeping.has(space)) : spaces.includes(what);
}

function watchRenames(when: string | undefined, isIt: (isLast: boolean) => boolean): void {
  const fs = createRequire(import.meta.url)('node:fs') as typeof import('node:fs');
  const rename = fs.renameSync;
  fs.renameSync = (from, to) => {
    const isTarget = isIt(false);
    if (isTarget && when === 'before') end();
    rename(from, to);
    if (isTarget) end();
  };
  syncBuiltinESMExports();
}

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}

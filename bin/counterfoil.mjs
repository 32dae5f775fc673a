#!/usr/bin/env node
// JavaScript that Node 12 can parse: a Node that is too old must get as far as the line that says so.
const oldest = [24, 12];
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  process.stderr.write(
    `counterfoil: needs Node ${oldest.join('.')} or later, and this is ${process.versions.node}\n`,
  );
  process.exit(2);
}
// A clone has the source and runs it, also after a build. The package has only what the build made: Node runs no TypeScript
// within node_modules.
const source = new URL('../src/cli/counterfoil.ts', import.meta.url);
// Here, so that the cache holds what the clone's first file compiles to as well.
process.getBuiltinModule('node:module').enableCompileCache();
const isClone = process.getBuiltinModule('node:fs').existsSync(source);
let isRunning = true;
import(isClone ? source.href : '../dist/src/cli/counterfoil.js').then(() => {
  isRunning = false;
});
// Node 12 cannot parse a top-level `await`. Without it, a command that waits for ever would exit with 0.
process.once('beforeExit', () => {
  if (isRunning) process.exitCode = 13;
});

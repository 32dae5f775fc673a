#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// Caches compiled code between starts, which more than halves the time to the first response.
const { directory } = enableCompileCache();
// The threads and processes of this one use the cache too. Without it, each of them in a clone would load the TypeScript
// compiler: 20 MB.
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= directory;
// Only the user of this process can read the files that it writes.
process.umask(0o077);

const args = process.argv.slice(2);
if (!(await runShortcut(args))) {
  const { run } = await import('./program.ts');
  await run(args);
}

/**
 * Runs the command lines that must start fast, without loading the parser and the tree of commands: `--version`, and `serve`
 * with no other option than `--simulate`. Resolves with false for any other command line.
 */
async function runShortcut([name, ...options]: readonly string[]): Promise<boolean> {
  if (name === '--version' && options.length === 0) {
    const { version } = await import('../version.ts');
    process.stdout.write(`${version}\n`);
    return true;
  }
  if (name === 'serve' && options.every((option) => option === '--simulate')) {
    const { serve } = await import('./serving.ts');
    await serve({ simulate: options.length > 0 }).catch(async (error: unknown) => {
      const { reportProblems } = await import('./problems.ts');
      reportProblems(error);
    });
    return true;
  }
  return false;
}

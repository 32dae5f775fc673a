import { reportProblems } from './problems.ts';

/**
 * Runs the command lines that must start fast, without loading the parser and the tree of commands: `--version`, and `serve`
 * with no other option than `--simulate`. Resolves with false for any other command line.
 */
export async function runShortcut([name, ...options]: readonly string[]): Promise<boolean> {
  if (name === '--version' && options.length === 0) {
    const { version } = await import('../version.ts');
    process.stdout.write(`${version}\n`);
    return true;
  }
  if (name === 'serve' && options.every((option) => option === '--simulate')) {
    const { serve } = await import('./serving.ts');
    await serve({ simulate: options.length > 0 }).catch((error: unknown) => reportProblems(error));
    return true;
  }
  return false;
}

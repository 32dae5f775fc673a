import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { givenUpMs } from './busy-machine.ts';

/** Whether a program is installed. */
export function isInstalled(program: string): boolean {
  return spawnSync('/bin/sh', ['-c', `command -v ${program}`]).status === 0;
}

/** Why no terminal can be simulated here; undefined if one can. */
export const noTerminal: string | undefined =
  process.platform === 'linux' && isInstalled('script') ? undefined : 'there is no script of util-linux';

/**
 * Runs a shell command on a terminal of its own, with these keys typed, and resolves with all that the terminal showed.
 *
 * @param columns the width of the terminal
 */
export async function onTerminal(
  command: string,
  {
    keys = '',
    columns = 80,
    env = {},
  }: { keys?: string; columns?: number; env?: Record<string, string> } = {},
): Promise<string> {
  const sized = `stty cols ${columns} && ${command}`;
  const child = spawn('script', ['-qec', sized, '/dev/null'], {
    env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    signal: AbortSignal.timeout(givenUpMs),
  });
  child.stdin.end(keys);
  return (await text(child.stdout)).replaceAll('\r\n', '\n');
}

/** Without the sequences that colour the text or move the cursor. */
export function plainText(shown: string): string {
  return stripVTControlCharacters(shown);
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { noTerminal, onTerminal, plainText } from '../support/terminal.ts';

const program = join(import.meta.dirname, '../../src/cli/counterfoil.ts');
const counterfoil = `'${process.execPath}' '${program}'`;
const skip = noTerminal ?? false;
const escapeSequence = '\u001b[';

test('a terminal shows colours, and none with NO_COLOR', { skip }, async () => {
  for (const command of ['config', '--help', 'keys list --help']) {
    const coloured = await onTerminal(`${counterfoil} ${command}`);
    assert.ok(coloured.includes(escapeSequence), command);
    const plain = await onTerminal(`${counterfoil} ${command}`, { env: { NO_COLOR: '1' } });
    assert.ok(!plain.includes(escapeSequence), command);
    assert.equal(plainText(coloured), plain);
    const both = await onTerminal(`${counterfoil} ${command}`, { env: { NO_COLOR: '1', FORCE_COLOR: '1' } });
    assert.ok(!both.includes(escapeSequence), command);
  }
});

test('a pipe gets no colours, also with FORCE_COLOR', async () => {
  for (const args of [['config'], ['--help'], ['nonsense']]) {
    const { output, errors } = await runCommand(args, { FORCE_COLOR: '1', TERM: 'xterm-256color' });
    assert.ok(!`${output}${errors}`.includes(escapeSequence));
  }
});

test('a table is cut to the width of the terminal, and not in a pipe', { skip }, async () => {
  const env = { COUNTERFOIL_DATA: `/data/${'x'.repeat(100)}` };
  const shown = plainText(await onTerminal(`${counterfoil} config`, { columns: 50, env }))
    .trimEnd()
    .split('\n');
  for (const line of shown) assert.ok(line.length <= 50, line);
  assert.match(shown.find((line) => line.startsWith('data ')) ?? '', /^data +\/data\/x+…$/);
  const { output } = await runCommand(['config'], env);
  assert.match(output, /^data +\/data\/x{100} +COUNTERFOIL_DATA$/m);
});

test('a pipe that closes early ends a command without an error', { skip }, async () => {
  const shown = await onTerminal(`${counterfoil} config --json | head -n 1`);
  assert.match(shown, /^\{"name":"host".*\}\n$/);
  // The pipe is closed before the first byte.
  for (const command of ['--help', 'config', 'completion fish'])
    assert.equal(await onTerminal(`( sleep 0.1; ${counterfoil} ${command}; echo "$?" >&2 ) | true`), '0\n');
});

test('output that cannot be written, as to a full disk, is a problem in a sentence', { skip }, async () => {
  const shown = await onTerminal(`${counterfoil} config > /dev/full; echo "$?"`);
  assert.equal(shown, 'counterfoil: standard output cannot be written (ENOSPC)\n1\n');
});

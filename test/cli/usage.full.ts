import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wholeProgram } from '../../src/cli/program.ts';
import { runCommand } from '../support/command.ts';
import { commandsOf, pathOf } from '../support/command-tree.ts';

const program = await wholeProgram();

for (const command of commandsOf(program)) {
  test(`${pathOf(command)}: an unknown option is one line, or one JSON object, and exit status 2`, async () => {
    const args = [...pathOf(command).split(' '), '--nonsense'];
    const { status, output, errors } = await runCommand(args, {});
    assert.deepEqual([status, output], [2, ''], errors);
    assert.match(errors, /^counterfoil: .*\n$/);
    const json = await runCommand([...args, '--json'], {});
    assert.deepEqual([json.status, json.output], [2, '']);
    assert.equal(JSON.parse(json.errors).error.code, 'usage');
  });
}

for (const [args, says] of [
  [['paymnts', 'list'], "unknown command 'paymnts' (Did you mean payments?)"],
  [['payments', 'lis'], "unknown command 'lis' (Did you mean list?)"],
  [['payments', 'list', '--jsn'], "unknown option '--jsn' (Did you mean --json?)"],
  [['payments', 'show'], "missing required argument 'payment'"],
  [['serve', '--workers', 'many'], '--workers: must be "auto" or a number from 1 to 128'],
  [['verify', '\u001b[2J'], "too many arguments for 'verify'. Expected 0 arguments but got 1: \\u001b[2J."],
] as const) {
  test(`${args.join(' ').replaceAll('\u001b', 'ESC')}: says what is wrong in one line`, async () => {
    assert.deepEqual(await runCommand(args, {}), { status: 2, output: '', errors: `counterfoil: ${says}\n` });
  });
}

test('a group without a command prints its help on standard error and exits with 2', async () => {
  for (const args of [[], ['payments']]) {
    const { status, output, errors } = await runCommand(args, {});
    assert.deepEqual([status, output], [2, '']);
    assert.match(errors, /^Usage: counterfoil (.*\n)+counterfoil: name a command\n$/);
  }
});

test('--help, -h and help print the same on standard output, and exit with 0', async () => {
  for (const [ways, begin] of [
    [[['--help'], ['-h'], ['help']], /^Usage: counterfoil \[options\] \[command\]\n/],
    [
      [
        ['payments', '--help'],
        ['payments', 'help'],
        ['help', 'payments'],
      ],
      /^Usage: counterfoil payments /,
    ],
    [
      [
        ['keys', 'list', '-h'],
        ['keys', 'help', 'list'],
      ],
      /^Usage: counterfoil keys list /,
    ],
  ] as const) {
    const shown = await Promise.all(ways.map((args) => runCommand(args, {})));
    for (const { status, errors } of shown) assert.deepEqual([status, errors], [0, '']);
    assert.equal(new Set(shown.map(({ output }) => output)).size, 1);
    assert.match(shown[0]?.output ?? '', begin);
  }
  const { output } = await runCommand(['--help'], {});
  for (const part of ['Serve:', 'Payments:', 'Data:', 'Access:', 'Operate:', 'Exit codes:'])
    assert.match(output, new RegExp(`^${part}$`, 'm'));
  assert.doesNotMatch(output, /worker/, 'only serve starts it');
});

test('--version works on every command', async () => {
  const { output } = await runCommand(['version'], {});
  assert.match(output, /^\d+\.\d+\.\d+\n$/);
  for (const args of [
    ['--version'],
    ['payments', '--version'],
    ['payments', 'list', '--version'],
    ['serve', '-V'],
  ])
    assert.deepEqual(await runCommand(args, {}), { status: 0, output, errors: '' });
  assert.deepEqual(JSON.parse((await runCommand(['version', '--json'], {})).output), {
    version: output.trim(),
  });
});

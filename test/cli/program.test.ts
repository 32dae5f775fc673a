import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { commandText } from '../../src/cli/command.ts';
import { wholeProgram } from '../../src/cli/program.ts';
import { commandsOf, pathOf } from '../support/command-tree.ts';
import { documentText } from '../support/documents.ts';

const program = await wholeProgram();
const commands = commandsOf(program);
/** `serve` logs JSON, and a completion script is read by a shell. */
const withoutJson = ['serve', 'worker', 'completion'];
const documented = commands.filter((command) => pathOf(command) !== 'worker');

test('there are commands', () => {
  assert.ok(commands.length > 20, `${commands.length}`);
});

for (const command of commands) {
  test(`${pathOf(command)}: has a description, help, examples, --version and --json`, () => {
    assert.match(command.description(), /\.$/);
    assert.match(
      helpOf(command),
      /^Usage: counterfoil .*\n(.*\n)+Options:\n(.*\n)+\nExamples:\n {2}npx counterfoil /,
    );
    const flags = command.options.map(({ long }) => long);
    assert.ok(flags.includes('--version'));
    const hasJson = command.commands.length === 0 && !withoutJson.includes(pathOf(command));
    assert.equal(flags.includes('--json'), hasJson);
    for (const { description } of [...command.options, ...command.registeredArguments])
      assert.notEqual(description, '');
  });

  test(`${pathOf(command)}: its examples name commands, arguments and options that exist`, () => {
    const { examples } = commandText(command);
    assert.ok(examples.length > 0);
    for (const example of examples) checkExample(example);
  });
}

test('every command and every option is in docs/cli.md', () => {
  const cli = documentText('docs/cli.md');
  for (const command of documented) {
    if (command.commands.length === 0) assert.ok(cli.includes(`\`${pathOf(command)}`), pathOf(command));
    for (const { long } of command.options)
      assert.ok(cli.includes(`\`${long}`), `${pathOf(command)} ${long}`);
  }
});

test('docs/cli.md names only commands and options that exist', () => {
  const paths = new Set([...commands, program].map(pathOf));
  const flags = new Set(['--help', ...commands.flatMap(({ options }) => options.map(({ long }) => long))]);
  const cli = documentText('docs/cli.md');
  const sections = cli.slice(cli.indexOf('\n## Serve'));
  for (const [, words = ''] of sections.matchAll(/^\| `([a-z]+(?: [a-z]+)?)\b[^|]*`/gm))
    assert.ok(paths.has(words) || words.startsWith('help'), words);
  for (const [, flag = ''] of cli.matchAll(/`(--[a-z-]+)/g)) assert.ok(flags.has(flag), flag);
});

function helpOf(command: Command): string {
  let help = '';
  // The commands share one configuration.
  const before = { ...command.configureOutput() };
  command.configureOutput({ writeOut: (text) => (help += text) });
  command.outputHelp();
  command.configureOutput(before);
  return help;
}

function checkExample(example: string): void {
  const [line = ''] = example.split(/ [>|] /);
  const words = line.split(' ');
  let command = program;
  while (words.length > 0) {
    const child = command.commands.find((each) => each.name() === words[0]);
    if (child === undefined) break;
    command = child;
    words.shift();
  }
  assert.ok(command !== program && command.commands.length === 0, example);
  let values = 0;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const option = command.options.find(({ long }) => long === word);
    if (!word.startsWith('--')) values++;
    else if (option?.required) words.shift();
    else assert.ok(option !== undefined || word === '--help', `${example}: ${word}`);
  }
  const { length: argumentsMax } = command.registeredArguments;
  const argumentsMin = command.registeredArguments.filter(({ required }) => required).length;
  assert.ok(values >= argumentsMin && values <= argumentsMax, example);
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { isInstalled, noTerminal, onTerminal, plainText } from '../support/terminal.ts';

const folder = mkdtempSync(join(tmpdir(), 'counterfoil-completion-'));
after(() => rmSync(folder, { recursive: true }));
const scriptOf = (shell: string) => join(folder, `script.${shell}`);

before(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { status, output, errors } = await runCommand(['completion', shell], {});
    assert.equal(status, 0, errors);
    writeFileSync(scriptOf(shell), output);
  }
});

/** What is typed, a tab for each completion, and the command line that then runs. */
const typed: readonly (readonly [keys: string, line: string])[] = [
  ['pay\tli\t--stat\tneeds\t', 'payments list --status needs_review'],
  ['payments list --status=decl\t', 'payments list --status=declined'],
  ['keys create --scope payments:cr\t', 'keys create --scope payments:create'],
  ['payments reconcile squ\t', 'payments reconcile square'],
  ['completion fi\t', 'completion fish'],
  ['help verif\t', 'help verify'],
  ['payments list --since 2026-01-01 --js\t', 'payments list --since 2026-01-01 --json'],
];

/** The start of a shell in which `counterfoil` prints its arguments. */
const starts: Readonly<Record<string, { readonly command: string; readonly setup: string }>> = {
  bash: {
    command: 'bash --norc --noprofile -i',
    setup: `source '${scriptOf('bash')}'; source '${scriptOf('bash')}'`,
  },
  zsh: { command: 'zsh -f -i', setup: `autoload -U compinit; compinit -D -u; source '${scriptOf('zsh')}'` },
};

for (const [shell, { command, setup }] of Object.entries(starts)) {
  test(`${shell}: completes commands, options and values`, { skip: missing(shell) }, async () => {
    for (const [keys, line] of typed) {
      const shown = plainText(
        await onTerminal(command, {
          columns: 200,
          keys: `${setup}; counterfoil() { printf 'got<%s>\\n' "$*"; }\ncounterfoil ${keys}\nexit\n`,
        }),
      );
      const run = /got<(?!%s)(.*)>/.exec(shown)?.[1];
      assert.equal(run?.trimEnd(), line, shown);
    }
  });
}

test('bash: runs nothing of an unfinished command line', { skip: missing('bash') }, async () => {
  const marker = join(folder, 'marker');
  // Ctrl-A goes to the begin of the line, and # makes it a comment, which Enter does not run.
  const line = `counterfoil payments show "$(touch ${marker})" --js\t\x01#`;
  const keys = `source '${scriptOf('bash')}'\n${line}\nexit\n`;
  const shown = plainText(await onTerminal('bash --norc --noprofile -i', { keys, columns: 200 }));
  assert.match(shown, /--json/, 'it has completed the option');
  assert.ok(!existsSync(marker));
});

test('fish: completes commands, options and values', { skip: missing('fish') }, () => {
  const complete = (line: string) =>
    execFileSync('fish', ['-N', '-c', `source '${scriptOf('fish')}'; complete -C '${line}'`], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH ?? '', HOME: folder },
    })
      .trim()
      .split('\n')
      .map((each) => each.split('\t')[0]);
  assert.deepEqual(complete('counterfoil pay'), ['payments']);
  assert.deepEqual(complete('counterfoil payments list --stat'), ['--status']);
  assert.deepEqual(complete('counterfoil payments list --status d'), ['declined']);
  assert.deepEqual(complete('counterfoil keys create --scope payments:c'), ['payments:create']);
  assert.deepEqual(complete('counterfoil help veri'), ['verify']);
});

test('rejects a shell that it does not know', async () => {
  const { status, errors } = await runCommand(['completion', 'tcsh'], {});
  assert.deepEqual([status, /Allowed choices are bash, zsh, fish/.test(errors)], [2, true]);
});

function missing(shell: string): string | false {
  if (!isInstalled(shell)) return `${shell} is not installed (apt-get install ${shell})`;
  return shell === 'fish' ? false : (noTerminal ?? false);
}

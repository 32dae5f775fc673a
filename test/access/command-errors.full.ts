import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newKey } from '../support/access/keys.ts';
import { runCommand } from '../support/command.ts';
import { newDataFolder } from '../support/service.ts';

const create = ['keys', 'create', '--name', 'a'];
for (const [args, expected] of [
  [['keys', 'dance'], /^counterfoil: unknown command 'dance'/],
  [['keys', 'create', '--scope', 'admin'], /required option '--name <name>' not specified/],
  [create, /needs a scope/],
  [[...create, '--publishable'], /needs the origins/],
  [[...create, '--scope', 'admin', '--expires', '2999-02-30'], /--expires: must be a date/],
  [[...create, '--scope', 'admin', '--expires', '-1d'], /--expires/],
] as const) {
  test(`${args.join(' ')}: reports what is wrong, and creates no key`, async (t) => {
    const ended = await runCommand(args, { COUNTERFOIL_DATA: newDataFolder(t) });
    assert.deepEqual([ended.status, ended.output], [2, '']);
    assert.match(ended.errors, expected);
    assert.doesNotMatch(ended.errors, /\n\s+at /, 'no stack');
  });
}

for (const [args, expected] of [
  [['keys', 'revoke'], /name either a key or --created-by/],
  [['keys', 'revoke', '0123456789abcdef'], /no API key with this id/],
  [['keys', 'rotate', 'a', '--overlap', 'a day'], /--overlap: must be a duration/],
  [['keys', 'rotate', 'a', '--overlap', '31d'], /at most 30d/],
  [['audit', 'list', '--since', 'yesterday'], /--since: must be a date/],
] as const) {
  test(`${args.join(' ')}: reports what is wrong`, async (t) => {
    const data = newDataFolder(t);
    await newKey(data);
    const ended = await runCommand(args, { COUNTERFOIL_DATA: data });
    assert.deepEqual([ended.status, ended.output], [2, '']);
    assert.match(ended.errors, expected);
  });
}

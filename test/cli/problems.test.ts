import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportProblems } from '../../src/cli/problems.ts';
import { SettingsError } from '../../src/errors.ts';

test('reports a problem of the store in a sentence and exits with 1, one of the settings with 2', (t) => {
  const lines: string[] = [];
  t.mock.method(process.stderr, 'write', (line: string) => lines.push(line) > 0);
  const before = process.exitCode;
  t.after(() => {
    process.exitCode = before;
  });
  const damaged = Object.assign(new Error('MDB_CORRUPTED: Located page was wrong type'), { code: -30796 });
  reportProblems(damaged);
  assert.equal(process.exitCode, 1);
  for (const [message, code] of [
    ['MDB_READERS_FULL: Environment maxreaders limit reached', -30790],
    ['Cannot allocate memory', 12],
  ] as const) {
    lines.length = 0;
    reportProblems(Object.assign(new Error(message), { code }), true);
    assert.equal(process.exitCode, 1);
    const { error } = JSON.parse(lines.join(''));
    assert.equal(error.code, 'store_not_opened');
    assert.match(error.message, /cannot be opened now .*; this does not show that it is damaged$/);
  }
  lines.length = 0;
  reportProblems(damaged);
  reportProblems(new SettingsError(['port (PORT): must be a number']));
  assert.equal(process.exitCode, 2);
  assert.match(lines.join(''), /^counterfoil: data .*MDB_CORRUPTED.*\ncounterfoil: port \(PORT\)/);
  assert.throws(() => reportProblems(new TypeError('a fault of ours')), TypeError);
});

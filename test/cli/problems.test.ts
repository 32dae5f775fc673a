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
  reportProblems(new SettingsError(['port (PORT): must be a number']));
  assert.equal(process.exitCode, 2);
  assert.match(lines.join(''), /^counterfoil: data .*MDB_CORRUPTED.*\ncounterfoil: port \(PORT\)/);
  assert.throws(() => reportProblems(new TypeError('a fault of ours')), TypeError);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { newDataFolder, startTestService } from '../support/service.ts';

const issuer = 'https://accounts.google.com';

test('admins add, list and remove: print what they did, or JSON, and the audit has each change once', async (t) => {
  const data = newDataFolder(t);
  await (await startTestService(t, { data })).stop();
  const run = (...args: string[]) => runCommand(args, { COUNTERFOIL_DATA: data });
  assert.match((await run('admins', 'list')).errors, /No administrators/);
  const added = await run('admins', 'add', issuer, '12345', '--name', 'Ada');
  assert.equal(added.status, 0, added.errors);
  assert.match(added.output, /12345 of https:\/\/accounts\.google\.com is an administrator: admin/);
  const scopes = ['--scope', 'payments:refund', '--scope', 'payments:read'];
  const changed = await run('admins', 'add', issuer, '12345', ...scopes, '--json');
  assert.equal(changed.status, 0, changed.errors);
  const { user, added_at, ...rest } = JSON.parse(changed.output);
  assert.match(user, /^[\w-]{22}$/);
  assert.ok(Date.parse(added_at) <= Date.now());
  assert.deepEqual(rest, {
    ...{ issuer, subject: '12345', name: null },
    scopes: ['payments:read', 'payments:refund'],
  });
  // The same again changes nothing.
  assert.equal((await run('admins', 'add', issuer, '12345', ...scopes)).status, 0);
  const listed = (await run('admins', 'list', '--json')).output.trimEnd().split('\n');
  assert.deepEqual(
    listed.map((line) => JSON.parse(line).subject),
    ['12345'],
  );
  assert.match((await run('admins', 'list')).output, /^NAME +ISSUER +SUBJECT +ADDED +ALLOWS\n/);
  const removed = await run('admins', 'remove', issuer, '12345');
  assert.match(removed.output, /no administrator any more/);
  const again = await run('admins', 'remove', issuer, '12345');
  assert.equal(again.status, 2);
  assert.match(again.errors, /There is no administrator with this issuer and subject/);
  const acts = (await run('audit', 'list', '--json')).output.trimEnd().split('\n');
  assert.deepEqual(
    acts.map((line) => JSON.parse(line).what).filter((what) => what.startsWith('administrator.')),
    ['administrator.added', 'administrator.changed', 'administrator.removed'],
  );
});

for (const [args, says] of [
  [['12345', issuer], /issuer must be a URL/],
  [[issuer, 'a\nb'], /subject must be/],
  [[issuer, 'a'.repeat(256)], /subject must be/],
  [[issuer, '1', '--name', ''], /name must be/],
  [[issuer, '1', '--scope', 'everything'], /--scope: there is no everything/],
  [[issuer], /missing required argument 'subject'/],
] as const) {
  test(`admins add ${JSON.stringify(args).slice(0, 60)}: adds nobody, and says what is wrong`, async (t) => {
    const data = newDataFolder(t);
    await (await startTestService(t, { data })).stop();
    const { status, errors } = await runCommand(['admins', 'add', ...args], { COUNTERFOIL_DATA: data });
    assert.equal(status, 2);
    assert.match(errors, says);
    const { output } = await runCommand(['admins', 'list', '--json'], { COUNTERFOIL_DATA: data });
    assert.equal(output, '');
  });
}

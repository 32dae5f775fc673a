import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ApiKeys } from '../../src/access/keys/api-keys.ts';
import { keyRequest } from '../support/access/keys.ts';
import { runCommand } from '../support/command.ts';
import { openStoreOf, startTestService } from '../support/service.ts';

const issuer = 'https://accounts.google.com';
const google = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' };

/** The data folder of a service that has stopped, with the integration `google/staff`. */
async function dataWithIntegration(t: TestContext): Promise<string> {
  const service = await startTestService(t);
  await service.post('/v3/create/service/auth/google/staff', google);
  await service.stop();
  return service.data;
}

test('admins add, list and remove: print what they did, or JSON, and the audit has each change once', async (t) => {
  const data = await dataWithIntegration(t);
  const run = (...args: string[]) => runCommand(args, { COUNTERFOIL_DATA: data });
  assert.match((await run('admins', 'list')).errors, /No administrators/);
  const early = await run('admins', 'add', issuer, '12345');
  assert.equal(early.status, 2);
  assert.match(early.errors, /No integration is approved for the console\. .*integrations approve/);
  assert.match((await run('integrations', 'list')).output, /google\/staff +client-1 +.*no/);
  const other = await run('integrations', 'approve', 'google/staff', '--client-id', 'client-of-mallory');
  assert.equal(other.status, 1);
  assert.match(other.errors, /another client_id than this one; nothing was approved/);
  const approved = await run('integrations', 'approve', 'google/staff', '--client-id', 'client-1', '--json');
  assert.equal(approved.status, 0, approved.errors);
  assert.ok(Date.parse(JSON.parse(approved.output).console_approved_at) <= Date.now());
  const added = await run('admins', 'add', issuer, '12345', '--name', 'Ada');
  assert.equal(added.status, 0, added.errors);
  assert.match(
    added.output,
    /12345 of https:\/\/accounts\.google\.com is an administrator by google\/staff: admin/,
  );
  const scopes = ['--scope', 'payments:refund', '--scope', 'payments:read'];
  const changed = await run('admins', 'add', issuer, '12345', ...scopes, '--json');
  assert.equal(changed.status, 0, changed.errors);
  const { user, added_at, ...rest } = JSON.parse(changed.output);
  assert.match(user, /^[\w-]{22}$/);
  assert.ok(Date.parse(added_at) <= Date.now());
  assert.deepEqual(rest, {
    ...{ issuer, subject: '12345', integration: 'google/staff', name: null },
    scopes: ['payments:read', 'payments:refund'],
  });
  // The same again changes nothing.
  assert.equal((await run('admins', 'add', issuer, '12345', ...scopes)).status, 0);
  const listed = (await run('admins', 'list', '--json')).output.trimEnd().split('\n');
  assert.deepEqual(
    listed.map((line) => JSON.parse(line).subject),
    ['12345'],
  );
  assert.match((await run('admins', 'list')).output, /^NAME +ISSUER +SUBJECT +INTEGRATION +ADDED +ALLOWS\n/);
  const engine = await openStoreOf(data);
  await new ApiKeys(engine, `administrator:${user}`).create(keyRequest({ name: 'of ada' }));
  await engine.close();
  const removed = await run('admins', 'remove', issuer, '12345');
  assert.match(removed.output, /no administrator any more/);
  assert.match(removed.errors, /These API keys of theirs stay valid:\n +[0-9a-f]{16} \(of ada\)/);
  const [line = ''] = /keys revoke --created-by \S+/.exec(removed.errors) ?? [];
  assert.match((await run(...line.split(' '))).output, /\(of ada\) is revoked/);
  assert.match((await run(...line.split(' '))).output, /No key by .* was valid/);
  assert.equal((await run('keys', 'revoke')).status, 2);
  const again = await run('admins', 'remove', issuer, '12345');
  assert.equal(again.status, 2);
  assert.match(again.errors, /There is no administrator with this issuer and subject/);
  const acts = (await run('audit', 'list', '--json')).output.trimEnd().split('\n');
  assert.deepEqual(
    acts.map((line) => JSON.parse(line).what).filter((what) => what.startsWith('administrator.')),
    ['administrator.added', 'administrator.changed', 'administrator.removed'],
  );
  const withdrawn = await run('integrations', 'withdraw', 'google/staff');
  assert.match(withdrawn.output, /accepts google\/staff no more/);
});

for (const [args, says] of [
  [['12345', issuer], /issuer must be a URL/],
  [[issuer, 'a\nb'], /subject must be/],
  [[issuer, 'a'.repeat(256)], /subject must be/],
  [[issuer, 'zoé'], /subject must be/],
  [['https://github.com', 'octocat'], /GitHub/],
  [[issuer, '1', '--name', ''], /name must be/],
  [[issuer, '1', '--scope', 'everything'], /--scope: there is no everything/],
  [[issuer], /missing required argument 'subject'/],
  [[issuer, '1', '--integration', 'google/web'], /google\/web is not approved for the console/],
] as const) {
  test(`admins add ${JSON.stringify(args).slice(0, 60)}: adds nobody, and says what is wrong`, async (t) => {
    const data = await dataWithIntegration(t);
    await runCommand(['integrations', 'approve', 'google/staff', '--client-id', 'client-1'], {
      COUNTERFOIL_DATA: data,
    });
    const { status, errors } = await runCommand(['admins', 'add', ...args], { COUNTERFOIL_DATA: data });
    assert.equal(status, 2);
    assert.match(errors, says);
    const { output } = await runCommand(['admins', 'list', '--json'], { COUNTERFOIL_DATA: data });
    assert.equal(output, '');
  });
}

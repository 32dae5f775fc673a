import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { signOut } from '../support/sign-in/app.ts';
import { startForOperators } from '../support/sign-in/operators.ts';

/** An audit event, as `counterfoil audit list --json` prints it. */
interface Act {
  readonly what: string;
  readonly on: string;
  readonly by: string;
  readonly request_id: string | null;
}

test('the audit log has sign-ins and sign-outs, with the user id and without personal data', async (t) => {
  const { service, enter, acts } = await start(t);
  const person = await enter('canary-person');
  await signOut(service.origin, person.browser, { everywhere: true });
  const own = (await acts()).filter(({ on }) => on === person.id);
  assert.deepEqual(
    own.map(({ what }) => what),
    ['user.signed_in', 'user.signed_out'],
  );
  for (const { request_id: requestId } of own) assert.match(requestId ?? '', /^req_/);
  assert.ok(!JSON.stringify(await acts()).includes('canary-person'));
});

test('the audit log has no sign-out without a session', async (t) => {
  const { service, enter, acts } = await start(t);
  const person = await enter('user-1');
  for (let count = 0; count < 3; count++) await signOut(service.origin, person.browser);
  const what = (await acts()).filter(({ on }) => on === person.id).map((act) => act.what);
  assert.deepEqual(what, ['user.signed_in', 'user.signed_out']);
});

test('the audit log has what operators end and delete, with the actor', async (t) => {
  const { service, data, enter, acts } = await start(t);
  const person = await enter('canary-person');
  assert.equal((await service.send('DELETE', `/v3/sessions?user=${person.id}`)).status, 200);
  const deleted = await runCommand(['users', 'delete', person.id], { COUNTERFOIL_DATA: data });
  assert.equal(deleted.status, 0, deleted.errors);
  const done = (await acts()).filter(({ what }) => ['sessions.ended', 'user.deleted'].includes(what));
  assert.deepEqual(
    done.map(({ what, by }) => [what, by]),
    [
      ['sessions.ended', 'open'],
      ['user.deleted', 'cli'],
    ],
  );
  assert.equal(done[1]?.on, person.id);
  assert.ok(!JSON.stringify(await acts()).includes('canary-person'));
});

async function start(t: TestContext) {
  const operators = await startForOperators(t);
  const { data } = operators.service;
  const acts = async (): Promise<Act[]> => {
    const { output, errors, status } = await runCommand(['audit', 'list', '--json'], {
      COUNTERFOIL_DATA: data,
    });
    assert.equal(status, 0, errors);
    return output
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  return { ...operators, data, acts };
}

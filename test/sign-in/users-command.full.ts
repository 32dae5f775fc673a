import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { newDataFolder } from '../support/service.ts';
import { livesOf, startForOperators } from '../support/sign-in/operators.ts';

test('users list and show: print a table and fields, or JSON', async (t) => {
  const { run, enter } = await start(t);
  const person = await enter('user-1');
  const other = await enter('user-2');
  const listed = await run('users', 'list');
  assert.equal(listed.status, 0, listed.errors);
  const lines = listed.output.trimEnd().split('\n');
  assert.equal(lines.length, 3);
  assert.match(lines[0] ?? '', /^USER +NAME +EMAIL +INTEGRATION +SUBJECT +LAST SIGN-IN$/);
  for (const { id } of [person, other]) assert.ok(listed.output.includes(id));
  const json = (await run('users', 'list', '--json')).output.trimEnd().split('\n');
  assert.deepEqual(json.map((line) => JSON.parse(line).id).sort(), [person.id, other.id].sort());
  const shown = await run('users', 'show', person.id, '--json');
  assert.equal(JSON.parse(shown.output).email, 'user-1@example.com');
  assert.match((await run('users', 'show', person.id)).output, /user-1@example\.com/);
});

test('users delete: signs out everywhere, and reports what it did', async (t) => {
  const { service, run, enter } = await start(t);
  const [person, other] = [await enter('user-1'), await enter('user-2')];
  const deleted = await run('users', 'delete', person.id);
  assert.equal(deleted.status, 0, deleted.errors);
  assert.match(deleted.output, /deleted/);
  assert.deepEqual(await livesOf(service.origin, person), [false, false]);
  assert.deepEqual(await livesOf(service.origin, other), [true, true]);
  const again = await run('users', 'delete', person.id);
  assert.equal(again.status, 2);
  assert.match(again.errors, /no user/i);
});

test('sessions list and end: filter by user and by integration', async (t) => {
  const { service, run, enter } = await start(t);
  const web = await enter('user-1');
  const shop = await enter('user-1', 'oidc/shop');
  const other = await enter('user-2');
  const listed = (await run('sessions', 'list', '--user', web.id, '--json')).output.trimEnd().split('\n');
  assert.equal(listed.length, 2);
  for (const line of listed) assert.equal(JSON.parse(line).user, web.id);
  const ended = await run('sessions', 'end', '--user', web.id, '--integration', 'oidc/shop');
  assert.equal(ended.status, 0, ended.errors);
  assert.match(ended.output, /\b1\b/);
  assert.deepEqual(await livesOf(service.origin, shop), [false, false]);
  assert.deepEqual(await livesOf(service.origin, web), [true, true]);
  assert.match((await run('sessions', 'end', '--integration', 'oidc/web')).output, /\b2\b/);
  for (const person of [web, other]) assert.deepEqual(await livesOf(service.origin, person), [false, false]);
});

test('sessions end: ends one by its id, or all, and the audit has each', async (t) => {
  const { service, run, enter } = await start(t);
  const [one, other, third] = [await enter('user-1'), await enter('user-1'), await enter('user-2')];
  const lines = (await run('sessions', 'list', '--json')).output.trimEnd().split('\n');
  const { body } = JSON.parse((await one.browser.open(`${service.origin}/v3/auth/session`)).text);
  const { id } = body.session;
  assert.ok(lines.some((line) => JSON.parse(line).id === id));
  const ended = await run('sessions', 'end', id, '--json');
  assert.deepEqual([ended.status, JSON.parse(ended.output)], [0, { ended: 1 }], ended.errors);
  assert.deepEqual(await livesOf(service.origin, one), [false, false]);
  assert.equal((await other.browser.open(`${service.origin}/v3/auth/session`)).status, 200);
  const again = await run('sessions', 'end', id);
  assert.equal(again.status, 2);
  assert.match(again.errors, /no session/i);
  assert.match((await run('sessions', 'end', '--all')).output, /\b2 sessions\b/);
  for (const person of [other, third])
    assert.deepEqual(await livesOf(service.origin, person), [false, false]);
  const acts = (await run('audit', 'list', '--json')).output.trimEnd().split('\n');
  assert.deepEqual(
    acts
      .map((line) => JSON.parse(line))
      .flatMap(({ what, on, by }) => (what === 'sessions.ended' ? [[on, by]] : [])),
    [
      [id, 'cli'],
      ['all', 'cli'],
    ],
  );
});

test('sessions end --older-than: keeps newer sessions', async (t) => {
  const { service, run, enter } = await start(t);
  const person = await enter('user-1');
  const young = await run('sessions', 'end', '--older-than', '1h');
  assert.equal(young.status, 0, young.errors);
  assert.deepEqual(await livesOf(service.origin, person), [true, true]);
  assert.match((await run('sessions', 'end', '--older-than', '0m')).output, /\b1\b/);
  assert.equal((await person.browser.open(`${service.origin}/v3/auth/session`)).status, 401);
});

for (const [args, says] of [
  [['users', 'dance'], /^counterfoil: unknown command 'dance'/],
  [['users', 'show'], /missing required argument 'user'/],
  [['users', 'show', 'nobody'], /no user/i],
  [['sessions', 'dance'], /^counterfoil: unknown command 'dance'/],
  [['sessions', 'end'], /--user|--integration|--older-than/],
  [['sessions', 'end', 'ses_x', '--all'], /--all/],
  [['sessions', 'end', '--all', '--older-than', '0m'], /--all/],
  [['sessions', 'end', '--older-than', 'yesterday'], /--older-than/],
  [['sessions', 'end', '--integration', 'web'], /--integration/],
] as const) {
  test(`${args.join(' ')}: ends no session, and reports what is wrong`, async (t) => {
    const { run, service, enter } = await start(t);
    const person = await enter('user-1');
    const { status, errors } = await run(...args);
    assert.equal(status, 2);
    assert.match(errors, says);
    assert.deepEqual(await livesOf(service.origin, person), [true, true]);
  });
}

async function start(t: TestContext) {
  const data = newDataFolder(t);
  const operators = await startForOperators(t, { data });
  const run = (...args: string[]) => runCommand(args, { COUNTERFOIL_DATA: data });
  return { ...operators, run };
}

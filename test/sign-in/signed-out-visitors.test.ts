import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sessionCookieAt } from '../../src/http/routes/sign-in.ts';
import { startTestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { signIn, startSignIn } from '../support/sign-in/signing-in.ts';

const path = '/v3/auth/session';
const minute = 60_000;

test('the log has a look-up of a session without a cookie at the level debug only', async (t) => {
  const service = await startTestService(t);
  for (const headers of [{}, { cookie: 'theme=dark; other-session=1' }, { cookie: '' }]) {
    const response = await service.get(path, headers);
    assert.deepEqual([response.status, response.json.body.error.code], [401, 'unauthenticated']);
  }
  const metrics = await service.get('/metrics');
  await service.stop();
  const lines = linesOf(service.logged());
  assert.equal(lines.length, 3);
  for (const { level, status, code, request_id } of lines) {
    assert.deepEqual([level, status, code], ['debug', 401, 'unauthenticated']);
    assert.ok(request_id);
  }
  assert.match(metrics.text, /_errors_total\{[^}]*code="unauthenticated"[^}]*\} 3$/m, 'each is counted');
});

test('the log has every look-up with an invalid, a forged, an ended or an expired cookie', async (t) => {
  let now = Date.now();
  const signing = await startSignIn(t, { now: () => now });
  const name = sessionCookieAt(signing.service.origin);
  await signIn(signing);
  const old = signing.browser.cookie(name);
  now += 30 * 24 * 60 * minute + 1;
  const other = new Browser();
  await signIn({ ...signing, browser: other });
  const live = other.cookie(name) ?? '';
  const cookies = [
    `${name}=`,
    `${name}=forged`,
    `${name}=${live.slice(0, -1)}`,
    `${name}=${live}; ${name}=${live}`,
    `${name}=${old}`,
  ];
  for (const cookie of cookies)
    assert.equal((await signing.service.get(path, { cookie })).status, 401, cookie);
  assert.equal((await signing.service.get(path, { cookie: `${name}=${live}` })).status, 200);
  await signing.service.stop();
  const lines = linesOf(signing.service.logged()).filter(({ code }) => code === 'unauthenticated');
  assert.deepEqual([...new Set(lines.map(({ level }) => level))], ['info']);
  assert.equal(
    lines.reduce((sum, { left_out = 0 }) => sum + 1 + left_out, 0),
    cookies.length,
  );
});

test('over https, the log has a look-up with a session cookie that lacks the prefix of the host', async (t) => {
  const service = await startTestService(t, { env: { COUNTERFOIL_PUBLIC_URL: 'https://app.example' } });
  await service.get(path, { cookie: 'counterfoil-session=planted' });
  await service.stop();
  assert.deepEqual(
    linesOf(service.logged()).map(({ level }) => level),
    ['info'],
  );
});

interface Line {
  readonly level: string;
  readonly status: number;
  readonly code: string;
  readonly request_id?: string;
  readonly left_out?: number;
}

/** The lines of failed requests. */
function linesOf(logged: string): readonly Line[] {
  const lines = logged
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return lines.filter(({ event, code }) => event === 'request' && code !== undefined);
}

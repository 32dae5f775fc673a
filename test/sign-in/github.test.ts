import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ScriptedGithub } from '../support/github/scripted-github.ts';
import { startTestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { whoIs } from '../support/sign-in/signing-in.ts';

test('signs in with GitHub, which has no ID tokens, and identifies the user by the numeric id', async (t) => {
  const { github, service, browser, signIn } = await startWithGithub(t);
  assert.equal((await signIn()).status, 303);
  const { body } = await whoIs({ service }, browser);
  const { session, ...who } = body;
  assert.deepEqual(who, {
    issuer: github.origin,
    subject: '583231',
    provider: 'github',
    integration: 'web',
    name: 'The Octocat',
    picture: 'https://avatars.example.com/u/583231',
  });
  const { state, code_challenge, ...asked } = Object.fromEntries(github.asked[0] ?? []);
  assert.deepEqual(asked, {
    client_id: 'client-1',
    response_type: 'code',
    redirect_uri: `${service.origin}/v3/auth/github/web/callback`,
    scope: 'read:user',
    code_challenge_method: 'S256',
  });
  assert.equal(github.exchanges[0]?.get('client_secret'), 'secret-1');
  assert.equal(github.userHeaders[0]?.authorization, 'Bearer gho_token');
});

test('uses the login as the name of a GitHub user without one', async (t) => {
  const { github, service, browser, signIn } = await startWithGithub(t);
  github.user = { id: 7, login: 'octocat', name: null, email: 'octocat@example.com' };
  await signIn();
  const { body } = await whoIs({ service }, browser);
  assert.deepEqual(
    [body.name, body.email, body.email_verified],
    ['octocat', 'octocat@example.com', undefined],
  );
});

test('rejects a sign-in when GitHub does not return a valid user', async (t) => {
  const { github, service, browser, signIn } = await startWithGithub(t);
  for (const [user, status] of [
    [{ login: 'octocat' }, 200],
    [{ id: '583231' }, 200],
    [{ id: 0 }, 200],
    [{ id: -1 }, 200],
    [{ id: 2 ** 60 }, 200],
    [[], 200],
    [null, 200],
    [{ message: 'Bad credentials' }, 401],
    [{ id: 583231 }, 500],
    [{ id: 583231 }, 302],
  ] as const) {
    [github.user, github.userStatus] = [user, status];
    const page = await signIn();
    assert.equal(page.status, 502, JSON.stringify(user));
    assert.equal((await whoIs({ service }, browser)).status, 401);
  }
});

test('rejects a code that GitHub does not know, and a code of another sign-in', async (t) => {
  const { service, browser, toCallback } = await startWithGithub(t);
  const forged = new URL(await toCallback());
  forged.searchParams.set('code', 'invalid_signature');
  assert.equal((await browser.open(forged.href)).status, 502);
  const injected = new URL(await toCallback());
  injected.searchParams.set('code', new URL(await toCallback()).searchParams.get('code') ?? '');
  assert.equal((await browser.open(injected.href)).status, 502);
  assert.equal((await whoIs({ service }, browser)).status, 401);
});

async function startWithGithub(t: TestContext) {
  const github = await ScriptedGithub.start(t);
  const service = await startTestService(t, { env: { COUNTERFOIL_GITHUB_URL: github.origin } });
  const browser = new Browser();
  const body = { GITHUB_CLIENT_ID: 'client-1', GITHUB_CLIENT_SECRET: 'secret-1' };
  assert.equal((await service.post('/v3/create/service/auth/github/web', body)).status, 200);
  const toCallback = async () => {
    const start = `${service.origin}/v3/auth/github/web/sign-in`;
    return (await browser.follow(start, (url) => url.includes('/callback?'))).url;
  };
  return { github, service, browser, toCallback, signIn: async () => browser.open(await toCallback()) };
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ScriptedGithub } from '../support/github/scripted-github.ts';
import { startTestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { whoIs } from '../support/sign-in/signing-in.ts';

const withEmail = { scopes: ['read:user', 'user:email'] };

test('reads the private e-mail address of a GitHub user with the scope user:email', async (t) => {
  const { github, who } = await startWithGithub(t, withEmail);
  const { email, email_verified: isVerified, name } = await who();
  assert.deepEqual([email, isVerified, name], ['octocat@example.com', true, 'The Octocat']);
  assert.equal(github.emailRequests, 1);
});

test('uses only the primary address, and marks it as verified only if GitHub does', async (t) => {
  const { github, who } = await startWithGithub(t, withEmail);
  const other = { email: 'work@example.com', primary: false, verified: true };
  github.emails = [other, { email: 'home@example.com', primary: true, verified: false }];
  const unverified = await who();
  assert.notEqual(unverified.email_verified, true);
  assert.notEqual(unverified.email, 'work@example.com');
  github.emails = [other];
  assert.equal((await who()).email, undefined);
});

test('signs in without an address when GitHub does not list the addresses', async (t) => {
  const { github, who } = await startWithGithub(t, withEmail);
  for (const emails of [[], {}, null, 'x', [null], [{ primary: true, verified: true }], [{ email: 7 }]]) {
    github.emails = emails;
    const { subject, email } = await who();
    assert.deepEqual([subject, email], ['583231', undefined], JSON.stringify(emails));
  }
  github.emails = [{ message: 'Not Found' }];
  for (const status of [403, 404, 500]) {
    github.emailsStatus = status;
    assert.equal((await who()).subject, '583231', `${status}`);
  }
});

test('does not request the addresses from GitHub without that scope', async (t) => {
  const { github, who } = await startWithGithub(t, { scopes: ['read:user'] });
  assert.equal((await who()).email, undefined);
  assert.equal(github.emailRequests, 0);
});

async function startWithGithub(t: TestContext, fields: object) {
  const github = await ScriptedGithub.start(t);
  const service = await startTestService(t, { env: { COUNTERFOIL_GITHUB_URL: github.origin } });
  const body = { GITHUB_CLIENT_ID: 'client-1', GITHUB_CLIENT_SECRET: 'secret-1', ...fields };
  const registered = await service.post('/v3/create/service/auth/github/web', body);
  assert.equal(registered.status, 200, registered.text);
  const who = async () => {
    const browser = new Browser();
    const start = `${service.origin}/v3/auth/github/web/sign-in`;
    const { url } = await browser.follow(start, (next) => next.includes('/callback?'));
    const page = await browser.open(url);
    assert.equal(page.status, 303, page.text);
    return (await whoIs({ service }, browser)).body;
  };
  return { github, who };
}

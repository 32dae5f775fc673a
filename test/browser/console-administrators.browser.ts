import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startIdentityProvider } from '../../examples/support/identity-provider.ts';
import { bearing, startServiceWithKeys } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { addAdministrator, approve, removeAdministrator } from '../support/console/administrators.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { freePort } from '../support/http/ports.ts';
import { credentials } from '../support/sign-in/signing-in.ts';

test('an administrator signs in with a provider on another site, works, and is out when removed', async (t) => {
  const { service, origin, issuer } = await start(t);
  await addAdministrator(service.data, { issuer, subject: 'ada' });
  const { openPage, context } = await openWindow(t, origin, { others: [issuer] });
  const page = await openPage();
  await page.goto(`${origin}/console/tables?from=emma`);
  const button = page.getByRole('button', { name: 'Sign in with OpenID Connect (web)' });
  await button.waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'sign-in');
  await button.press('Enter');
  await answer(page, 'ada');
  await page.getByRole('heading', { name: 'No tables yet' }).waitFor();
  assert.equal(page.url(), `${origin}/console/tables?from=emma`, 'the view that was asked for');
  await page.getByText('Signed in as ada').waitFor();
  const ours = (await context.cookies(origin)).filter(({ name }) => name.startsWith('counterfoil'));
  assert.deepEqual(
    ours.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]),
    [[`counterfoil-console-${new URL(origin).port}`, true, 'Strict']],
    'no session of the app, and no proof is left',
  );
  await page.reload();
  await page.getByText('Signed in as ada').waitFor();
  await page.goto(`${origin}/console/audit`);
  const newest = page.getByRole('row').nth(1);
  await newest.getByText('Signed in to the console').waitFor();
  await newest.getByText(`ada (ada of ${issuer})`).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);

  await page.goto(`${origin}/console/operations`);
  await page.getByText('Signed in as ada').waitFor();
  await removeAdministrator(service.data, { issuer, subject: 'ada' });
  await page.getByText('Your session has ended.').waitFor();
});

test('a person who is no administrator sees who they are, and may try again', async (t) => {
  const { service, origin, issuer } = await start(t);
  await addAdministrator(service.data, { issuer, subject: 'ada' });
  const { openPage } = await openWindow(t, origin, { others: [issuer] });
  const page = await openPage();
  await page.goto(`${origin}/console`);
  await page.getByRole('button', { name: 'Sign in with OpenID Connect (web)' }).click();
  await answer(page, 'mallory');
  await page.getByRole('heading', { name: 'You are not an administrator' }).waitFor();
  for (const text of [issuer, 'mallory']) await page.getByText(text, { exact: true }).waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'not-administrator');
  await page.getByRole('link', { name: 'Try again' }).click();
  await page.getByLabel('API key').waitFor();
});

/** Answers the forms of the provider. */
async function answer(page: Page, login: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(login);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** Browsers take `localhost` and `127.0.0.1` for two sites: the way back from the provider is one between sites, as usual. */
async function start(t: TestContext) {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const { service, keys } = await startServiceWithKeys(
    t,
    { admin: { scopes: ['admin'] } },
    { env: { PORT: String(port), COUNTERFOIL_PUBLIC_URL: origin } },
  );
  const provider = await startIdentityProvider({
    clientId: credentials.IDP_CLIENT_ID,
    clientSecret: credentials.IDP_CLIENT_SECRET,
    redirectUris: [`${origin}/v3/auth/oidc/web/callback`],
  });
  t.after(() => provider.close());
  const { issuer } = provider;
  const fields = { ...credentials, IDP_ISSUER: issuer };
  const registered = await service.post('/v3/create/service/auth/oidc/web', fields, bearing(keys.admin));
  assert.equal(registered.status, 200, registered.text);
  const approved = await approve(service, provider, bearing(keys.admin));
  assert.equal(approved.status, 200, approved.text);
  return { service, origin, issuer };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServiceWithKeys } from '../support/access/keys.ts';
import { look } from '../support/browser.ts';
import { accessibilityProblems, openWindow } from '../support/console/page.ts';
import { signIn, startSignIn } from '../support/sign-in/signing-in.ts';

const shop = '/v3/service/auth/oidc/shop';

test('adds an integration by keyboard with the check of its provider, rotates its secret, and deletes it', async (t) => {
  const kit = await startSignIn(t);
  const { service, provider } = kit;
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/people`);
  await page.getByRole('button', { name: 'Add an integration' }).press('Enter');
  const field = (label: string) => page.getByLabel(label, { exact: true });
  const urls = page.getByLabel('Return URLs, one to a line');
  await page.getByLabel('Name, as in its paths').fill('shop');
  await field('Issuer').fill('https://127.0.0.1:1');
  await field('Client id').fill('client-1');
  await field('Client secret').fill('secret-1');
  await urls.fill(`${service.origin}/back\nhttps://shop.example/*#x`);
  assert.deepEqual(await accessibilityProblems(page), []);
  await field('Client secret').press('Enter');
  await page.locator('textarea[aria-invalid=true]:focus').waitFor();
  await page.getByRole('alert').getByText('A return URL must be an absolute').waitFor();
  await urls.fill(`${service.origin}/back\nhttps://shop.example/`);
  await field('Client secret').press('Enter');
  await page.locator('input[name=IDP_ISSUER][aria-invalid=true]:focus').waitFor();
  await page.getByRole('alert').getByText('could not be reached for discovery').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await look(page, 'integration');
  assert.equal((await service.get(shop)).status, 404, 'nothing was written');
  await field('Issuer').fill(provider.issuer);
  await page.getByLabel('Name, as in its paths').fill('Shop');
  await page.keyboard.press('Enter');
  await page.locator('input[name=INTEGRATION_NAME][aria-invalid=true]:focus').waitFor();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('shop');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'oidc/shop' }).waitFor();
  const { body: made } = (await service.get(shop)).json;
  assert.deepEqual(made.return_urls, [`${service.origin}/back`, 'https://shop.example/']);
  await signIn(kit, '/v3/auth/oidc/shop/sign-in');
  assert.equal(provider.secrets.at(-1), 'secret-1');

  await page.getByRole('button', { name: 'Edit oidc/shop, or rotate its secret' }).press('Enter');
  await field('Client secret').waitFor();
  assert.equal(await field('Client secret').inputValue(), '', 'no secret reaches the page');
  assert.equal(await field('Issuer').inputValue(), provider.issuer);
  await urls.fill('https://shop.example/other');
  await field('Client secret').fill('secret-2');
  assert.deepEqual(await accessibilityProblems(page), []);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByText('https://shop.example/other').waitFor();
  const { body: replaced } = (await service.get(shop)).json;
  assert.deepEqual(replaced, { ...made, return_urls: ['https://shop.example/other'] });
  await signIn(kit, '/v3/auth/oidc/shop/sign-in');
  assert.equal(provider.secrets.at(-1), 'secret-2');

  await page.getByRole('button', { name: 'Delete oidc/shop' }).press('Enter');
  await page.getByText('everybody who has is signed out').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  assert.equal((await service.get(shop)).status, 200, 'not before the confirmation');
  await page.getByRole('button', { name: 'Delete integration' }).press('Enter');
  await page.getByRole('heading', { name: 'oidc/shop' }).waitFor({ state: 'detached' });
  assert.equal((await service.get(shop)).status, 404);
  assert.equal((await service.get('/v3/service/auth/oidc/web')).status, 200, 'and no other');
});

test('an integration of the same name stays as it is; the scopes of one that is edited too', async (t) => {
  const { service, provider } = await startSignIn(t, { fields: { scopes: ['openid', 'groups'] } });
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/people`);
  await page.getByRole('button', { name: 'Add an integration' }).click();
  await page.getByLabel('Name, as in its paths').fill('web');
  await page.getByLabel('Issuer', { exact: true }).fill(provider.issuer);
  await page.getByLabel('Client id', { exact: true }).fill('another');
  await page.getByLabel('Client secret', { exact: true }).fill('secret-1');
  await page.keyboard.press('Enter');
  await page.locator('input[name=INTEGRATION_NAME][aria-invalid=true]:focus').waitFor();
  await page.keyboard.press('Escape');
  const path = '/v3/service/auth/oidc/web';
  const before = (await service.get(path)).json.body;
  assert.deepEqual([before.client_id, before.scopes], ['client-1', ['openid', 'groups']]);
  await page.getByRole('button', { name: 'Edit oidc/web' }).click();
  await page.getByLabel('Client id', { exact: true }).fill('client-2');
  await page.getByLabel('Client secret', { exact: true }).fill('secret-2');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.deepEqual((await service.get(path)).json.body, { ...before, client_id: 'client-2' });
});

test('a key that may only read integrations is offered no change', async (t) => {
  const { service, keys } = await startServiceWithKeys(t, {
    admin: { scopes: ['admin'] },
    reader: { scopes: ['integrations:read'] },
  });
  const body = { IDP_CLIENT_ID: 'client-1', IDP_CLIENT_SECRET: 'secret-1' };
  const authorization = { authorization: `Bearer ${keys.admin}` };
  await service.post('/v3/create/service/auth/google/web', body, authorization);
  const { openPage } = await openWindow(t, service.origin);
  const page = await openPage();
  await page.goto(`${service.origin}/console/people`);
  await page.getByLabel('API key').fill(keys.reader);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Try web: sign in with it' }).waitFor();
  for (const name of ['Add an integration', 'Edit google/web, or rotate its secret', 'Delete google/web'])
    assert.equal(await page.getByRole('button', { name }).count(), 0, name);
});

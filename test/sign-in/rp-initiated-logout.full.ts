import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { itemsOf } from '../../src/storage/item-text.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';
import { newData, ServeProcess } from '../support/serve-process.ts';
import { openStoreOf } from '../support/service.ts';
import { isSignedIn, publicUrl, registerPath, sendJson, signInAt, signOut } from '../support/sign-in/app.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials, signIn, signInPath, startSignIn } from '../support/sign-in/signing-in.ts';

/** OpenID Connect RP-Initiated Logout 1.0. */
for (const body of [undefined, { everywhere: true }]) {
  test(`a sign-out returns the URL for a sign-out at the provider: ${JSON.stringify(body ?? {})}`, async (t) => {
    const { origin, issuer, browser } = await start(t, (issuerOf) => `${issuerOf}/logout?theme=dark`);
    const { status, text } = await signOut(origin, browser, body);
    assert.equal(status, 200, text);
    const { message, sign_out_url: signOutUrl, ...others } = JSON.parse(text).body;
    assert.deepEqual([message, others], ['Signed out', {}]);
    const url = new URL(signOutUrl);
    assert.equal(url.origin + url.pathname, `${issuer}/logout`);
    const { searchParams: query } = url;
    assert.equal(query.get('theme'), 'dark', 'the query of the endpoint is kept');
    const hint = query.get('id_token_hint');
    assert.ok(
      hint !== null || query.get('client_id') === credentials.IDP_CLIENT_ID,
      'the URL identifies the client',
    );
    assert.equal(new URL(query.get('post_logout_redirect_uri') ?? '').origin, origin);
    for (const [name] of query) assert.equal(query.getAll(name).length, 1, name);
  });
}

test('a sign-out returns no URL when the endpoint of the provider is missing or unsafe', async (t) => {
  for (const endpoint of [
    undefined,
    'javascript:alert(1)',
    'data:text/html,x',
    'http://attacker.example/logout',
    'https://user:password@id.example.com/',
    '/logout',
    7,
  ]) {
    const { origin, browser } = await start(t, () => endpoint);
    const { text } = await signOut(origin, browser);
    assert.equal(text, '{"statusCode":200,"body":{"message":"Signed out"}}', String(endpoint));
  }
});

test('a sign-out without a session returns no URL', async (t) => {
  const { origin, browser } = await start(t, (issuer) => `${issuer}/logout`);
  await signOut(origin, browser);
  const { text } = await signOut(origin, browser);
  assert.equal(text, '{"statusCode":200,"body":{"message":"Signed out"}}');
});

test('a sign-out is complete when the provider is down', async (t) => {
  const provider = await startProvider(t);
  const data = newData(t);
  const env = { COUNTERFOIL_PUBLIC_URL: publicUrl };
  const first = await ServeProcess.start(t, { data, env });
  const origin = await first.ready();
  const fields = { ...credentials, IDP_ISSUER: provider.issuer };
  assert.equal((await sendJson(origin + registerPath, 'POST', fields)).status, 200);
  const browser = new Browser();
  await signInAt(origin, browser, signInPath);
  await first.terminate();
  // The next process has no cached metadata, and the provider never responds.
  provider.twists = { respond: () => true };
  const second = await (await ServeProcess.start(t, { data, env })).ready();
  const asked = provider.asked.length;
  const { status, text } = await signOut(second, browser);
  assert.equal(status, 200, text);
  assert.equal(await isSignedIn(second, browser), false);
  assert.ok(provider.asked.length - asked <= 1, 'at most one request');
});

test('no record has an unencrypted ID token', async (t) => {
  const { service, provider, browser } = await start(t, (issuer) => `${issuer}/logout`);
  const other = new Browser();
  await signIn({ service, provider, browser: other });
  await signOut(service.origin, browser);
  await service.stop();
  const engine = await openStoreOf(service.data);
  t.after(() => engine.close());
  let records = 0;
  for (const space of await engine.spaces()) {
    const scan = await engine.scan(space);
    for await (const { id, name } of itemsOf(scan?.chunks ?? [])) {
      records++;
      assert.doesNotMatch(`${id}${name}`, /eyJ[\w-]+\.eyJ[\w-]+\./, space);
    }
  }
  assert.ok(records > 2);
});

async function start(t: TestContext, endpointOf: (issuer: string) => unknown) {
  const signing = await startSignIn(t);
  const { provider, service, browser } = signing;
  provider.twists = {
    discovery: (honest) => {
      const endpoint = endpointOf(provider.issuer);
      return endpoint === undefined ? honest : { ...honest, end_session_endpoint: endpoint };
    },
  };
  const page = await signIn(signing);
  assert.equal(page.status, 303, page.text);
  return { service, provider, browser, origin: service.origin, issuer: provider.issuer };
}

async function startProvider(t: TestContext): Promise<ScriptedOidc> {
  const provider = await ScriptedOidc.start(t);
  provider.twists = {
    discovery: (honest) => ({ ...honest, end_session_endpoint: `${provider.issuer}/logout` }),
  };
  return provider;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startIdentityProvider } from '../../examples/support/identity-provider.ts';
import { givenUpMs } from '../support/busy-machine.ts';
import { startTestService } from '../support/service.ts';
import { Browser } from '../support/sign-in/browser.ts';
import { credentials, signInPath, whoIs } from '../support/sign-in/signing-in.ts';

const place = '/v3/auth/oidc/web';

test('a sign-out at a real provider ends the sessions that it signed in here', async (t) => {
  const service = await startTestService(t);
  const client = {
    client_id: credentials.IDP_CLIENT_ID,
    client_secret: credentials.IDP_CLIENT_SECRET,
    redirect_uris: [`${service.origin}${place}/callback`],
    post_logout_redirect_uris: [`${service.origin}/v3/auth/signed-out`],
    backchannel_logout_uri: `${service.origin}${place}/back-channel-logout`,
    backchannel_logout_session_required: true,
  };
  const provider = await startIdentityProvider({
    clientId: client.client_id,
    clientSecret: client.client_secret,
    redirectUris: client.redirect_uris,
    more: { clients: [client], features, fetch: anywhere },
  });
  t.after(() => provider.close());
  const fields = { ...credentials, IDP_ISSUER: provider.issuer };
  assert.equal((await service.post('/v3/create/service/auth/oidc/web', fields)).status, 200);

  const [here, there] = [new Browser(), new Browser()];
  for (const browser of [here, there]) {
    const form = await browser.follow(service.origin + signInPath);
    const consent = await browser.submit(form, { login: 'alice', password: 'any' });
    assert.equal((await browser.submit(consent, {})).status, 200);
  }
  const signOut = await here.open(`${service.origin}/v3/auth/sign-out`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  // After the sign-out, the browser continues to the provider, which sends logout tokens.
  const confirm = await here.open(JSON.parse(signOut.text).body.sign_out_url);
  assert.equal(confirm.status, 200, confirm.text);
  const signedOut = await here.submit(confirm, { logout: 'yes' });
  assert.match(signedOut.text, /You are signed out/);
  assert.equal((await whoIs({ service }, there)).status, 200, 'another session at the provider is not ended');

  const elsewhere = await there.open(`${provider.issuer}/session/end`);
  await there.submit(elsewhere, { logout: 'yes' });
  const giveUpAt = Date.now() + givenUpMs;
  while ((await whoIs({ service }, there)).status !== 401) {
    assert.ok(Date.now() < giveUpAt, 'no logout token arrived');
    await sleep(20);
  }
});

const features = { devInteractions: { enabled: true }, backchannelLogout: { enabled: true } };

/** By default the provider does not call loopback addresses. */
function anywhere(url: string, { method, headers, body }: RequestInit): Promise<Response> {
  return fetch(url, { method, headers, body } as RequestInit);
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { JWTPayload } from 'jose';
import { oidcProvider } from '../../src/identity/oidc.ts';
import { type Fetch, outbound } from '../../src/identity/outbound.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';

const microsoft = 'https://login.microsoftonline.com';
const ours = '9188040d-6c67-4c5b-b112-36a304b66dad';
const other = '72f988bf-86f1-41af-91ab-2d7cd011db47';
const issuerOf = (tenant: string) => `${microsoft}/${tenant}/v2.0`;
const client = {
  clientId: 'client-1',
  clientSecret: 'secret-1',
  scopes: ['openid', 'profile', 'email'],
  redirectUri: 'https://id.example.com/v3/auth/microsoft/web/callback',
};
const checks = { state: 'state-1', nonce: 'nonce-1', codeVerifier: 'v'.repeat(43) };

test('identifies a Microsoft user by the issuer of the tenant', async (t) => {
  const signIn = await startMicrosoft(t);
  for (const tid of [ours, other]) {
    const identity = await signIn((honest) => ({ ...honest, iss: issuerOf(tid), tid }));
    assert.equal(identity.issuer, issuerOf(tid));
    assert.equal(identity.subject, 'user-1');
  }
});

test('rejects a Microsoft ID token whose issuer is not that of its tenant', async (t) => {
  const signIn = await startMicrosoft(t);
  for (const lie of [
    { iss: issuerOf(other), tid: ours },
    { iss: issuerOf('{tenantid}'), tid: ours },
    { iss: issuerOf('{tenantid}'), tid: '{tenantid}' },
    { iss: issuerOf('common'), tid: 'common' },
    { iss: issuerOf('undefined') },
    { iss: issuerOf(ours) },
    { iss: `${microsoft}/a/b/v2.0`, tid: 'a/b' },
    { iss: 'https://attacker.example', tid: ours },
    { iss: issuerOf(''), tid: '' },
  ]) {
    await assert.rejects(
      signIn((honest) => ({ ...honest, ...lie })),
      { reason: 'untrusted' },
      JSON.stringify(lie),
    );
  }
});

test('does not call this machine for a remote provider whose metadata points here', async (t) => {
  const inside = await ScriptedOidc.start(t);
  for (const endpoint of ['jwks_uri', 'token_endpoint']) {
    const signIn = await startMicrosoft(t, (metadata) => ({
      ...metadata,
      [endpoint]: `${inside.issuer}/${endpoint}`,
    }));
    await assert.rejects(signIn((honest) => ({ ...honest, iss: issuerOf(ours), tid: ours })));
  }
  assert.deepEqual(inside.asked, []);
});

/** The adapter, with a scripted provider in the place of Microsoft; other requests go to the real network. */
async function startMicrosoft(t: TestContext, twist: (metadata: object) => object = (metadata) => metadata) {
  const scripted = await ScriptedOidc.start(t);
  const elsewhere = outbound({ loopback: false });
  const network: Fetch = (address, init) => {
    const { origin, pathname } = new URL(address);
    if (origin !== microsoft) return elsewhere(address, init);
    return outbound({ loopback: true })(scripted.issuer + pathname, init);
  };
  const provider = oidcProvider({ issuer: issuerOf('common'), fetchFor: () => network });
  const discovery = ({
    authorization_response_iss_parameter_supported: _,
    ...honest
  }: Record<string, unknown>) => ({
    ...(JSON.parse(JSON.stringify(honest).replaceAll(scripted.issuer, microsoft)) as object),
    issuer: issuerOf('{tenantid}'),
    ...twist({}),
  });
  return async (claims: (honest: JWTPayload) => JWTPayload) => {
    scripted.twists = { discovery, claims };
    const asked = await provider.begin(client, checks);
    assert.equal(asked.origin, microsoft);
    const approved = await fetch(`${scripted.issuer}/authorize${asked.search}`, { redirect: 'manual' });
    const callback = new URL(approved.headers.get('location') ?? '').searchParams;
    callback.delete('iss');
    return provider.finish(client, callback, checks);
  };
}

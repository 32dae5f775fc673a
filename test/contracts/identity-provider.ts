import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import type { Checks, Client, FailureReason, IdentityProvider } from '../../src/identity/provider.ts';
import { ProviderFailure } from '../../src/identity/provider.ts';

/** An adapter and the provider that it calls. */
export interface IdentityProviderFixture {
  readonly provider: IdentityProvider;
  readonly client: Client;
  /** The user who approves. */
  readonly issuer: string;
  readonly subject: string;
  /** Approves the request as a browser would. @returns the parameters of the callback */
  approve(authorization: URL): Promise<URLSearchParams>;
  /** How many codes the provider was asked to exchange. */
  exchanges(): number;
  /** The provider does not respond any more. */
  stop(): void;
}

/** What every adapter of the port `IdentityProvider` promises. */
export function identityProviderContract(
  name: string,
  start: (t: TestContext) => Promise<IdentityProviderFixture>,
): void {
  describe(`${name} as an identity provider`, () => {
    test('binds the authorization request to the client, the state and the challenge', async (t) => {
      const { provider, client } = await start(t);
      const checks = newChecks();
      const url = await provider.begin(client, checks);
      const sent = Object.fromEntries(url.searchParams);
      assert.equal(sent.client_id, client.clientId);
      assert.equal(sent.redirect_uri, client.redirectUri);
      assert.equal(sent.response_type, 'code');
      assert.equal(sent.scope, client.scopes.join(' '));
      assert.equal(sent.state, checks.state);
      assert.equal(sent.code_challenge_method, 'S256');
      const challenge = createHash('sha256').update(checks.codeVerifier).digest('base64url');
      assert.equal(sent.code_challenge, challenge);
      for (const secret of [client.clientSecret, checks.codeVerifier]) assert.ok(!url.href.includes(secret));
    });

    test('proves who approved, with one exchange, and the same user again', async (t) => {
      const fixture = await start(t);
      const { issuer, subject } = fixture;
      for (let n = 1; n <= 2; n++) {
        const proven = await signIn(fixture);
        assert.deepEqual([proven.issuer, proven.subject], [issuer, subject]);
        assert.equal(fixture.exchanges(), n);
      }
    });

    test('loads the metadata when asked', async (t) => {
      const { provider, client } = await start(t);
      await provider.discover(client);
    });

    test('exchanges a code only with the verifier of its sign-in', async (t) => {
      const fixture = await start(t);
      const { provider, client } = fixture;
      const checks = newChecks();
      const parameters = await fixture.approve(await provider.begin(client, checks));
      const { codeVerifier } = newChecks();
      await fails(provider.finish(client, parameters, { ...checks, codeVerifier }), ['rejected']);
    });

    test('proves nothing by a code that was exchanged before', async (t) => {
      const fixture = await start(t);
      const { provider, client } = fixture;
      const checks = newChecks();
      const parameters = await fixture.approve(await provider.begin(client, checks));
      await provider.finish(client, parameters, checks);
      await fails(provider.finish(client, parameters, checks), ['rejected']);
    });

    test('exchanges nothing for a response of another sign-in', async (t) => {
      const fixture = await start(t);
      const { provider, client } = fixture;
      const checks = newChecks();
      const parameters = await fixture.approve(await provider.begin(client, checks));
      const { state } = newChecks();
      await fails(provider.finish(client, parameters, { ...checks, state }), ['untrusted']);
      assert.equal(fixture.exchanges(), 0);
    });

    for (const [error, reason] of [
      ['access_denied', 'denied'],
      ['server_error', 'rejected'],
      ['not_a_listed_error', 'rejected'],
    ] as const) {
      test(`calls the error ${error} of a response ${reason}, and exchanges nothing`, async (t) => {
        const fixture = await start(t);
        const { provider, client } = fixture;
        const checks = newChecks();
        const approved = await fixture.approve(await provider.begin(client, checks));
        approved.delete('code');
        approved.set('error', error);
        await fails(provider.finish(client, approved, checks), [reason]);
        assert.equal(fixture.exchanges(), 0);
      });
    }

    test('calls a provider that does not respond unreachable', async (t) => {
      const fixture = await start(t);
      const { provider, client } = fixture;
      const checks = newChecks();
      const parameters = await fixture.approve(await provider.begin(client, checks));
      fixture.stop();
      const failure = await fails(provider.finish(client, parameters, checks), ['unreachable']);
      const code = parameters.get('code') ?? '';
      for (const secret of [code, client.clientSecret, checks.codeVerifier])
        assert.ok(!failure.detail.includes(secret), 'the detail is for the log');
    });

    test('begins a sign-in while the provider does not respond, with metadata that it has', async (t) => {
      const fixture = await start(t);
      const { provider, client } = fixture;
      await provider.begin(client, newChecks());
      fixture.stop();
      await provider.begin(client, newChecks());
    });

    test('has a sign-out address for browsers without the secret, or none', async (t) => {
      const { provider, client } = await start(t);
      const url = await provider.signOutUrl(client, 'https://shop.example/bye');
      if (url !== undefined) assert.ok(!url.href.includes(client.clientSecret));
    });

    for (const token of ['', 'a.b.c', 'eyJhbGciOiJub25lIn0.e30.']) {
      test(`rejects ${JSON.stringify(token)} as a logout token`, async (t) => {
        const { provider, client } = await start(t);
        await fails(provider.readLogoutToken(client, token), ['untrusted']);
      });
    }
  });
}

async function signIn({ provider, client, approve }: IdentityProviderFixture) {
  const checks = newChecks();
  return provider.finish(client, await approve(await provider.begin(client, checks)), checks);
}

function newChecks(): Checks {
  const random = () => randomBytes(32).toString('base64url');
  return { state: random(), nonce: random(), codeVerifier: random() };
}

async function fails(work: Promise<unknown>, reasons: readonly FailureReason[]): Promise<ProviderFailure> {
  const failure = await work.then(
    () => assert.fail('it did not fail'),
    (error: unknown) => error,
  );
  assert.ok(failure instanceof ProviderFailure, String(failure));
  assert.ok(reasons.includes(failure.reason), `${failure.reason}: ${failure.detail}`);
  return failure;
}

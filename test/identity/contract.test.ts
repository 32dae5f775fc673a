import { githubProvider } from '../../src/identity/github.ts';
import { oidcProvider } from '../../src/identity/oidc.ts';
import { outbound } from '../../src/identity/outbound.ts';
import { identityProviderContract } from '../contracts/identity-provider.ts';
import { ScriptedGithub } from '../support/github/scripted-github.ts';
import { ScriptedOidc } from '../support/oidc/scripted-oidc.ts';

const fetch = outbound({ loopback: true });
const client = {
  clientId: 'client-1',
  clientSecret: 'a-secret-of-the-client',
  redirectUri: 'https://id.example.com/callback',
};

identityProviderContract('oidc', async (t) => {
  const double = await ScriptedOidc.start(t);
  const { issuer, subject } = double;
  return {
    provider: oidcProvider({ fetchFor: () => fetch }),
    client: { ...client, issuer, scopes: ['openid', 'profile', 'email'] },
    issuer,
    subject,
    approve: async (url) => new URL(double.approve(url)).searchParams,
    exchanges: () => double.exchanges.length,
    stop: () => double.stop(),
  };
});

identityProviderContract('github', async (t) => {
  const double = await ScriptedGithub.start(t);
  return {
    provider: githubProvider({ origin: double.origin, fetch }),
    client: { ...client, scopes: ['read:user'] },
    issuer: double.origin,
    subject: '583231',
    approve: async (url) => {
      const { headers } = await globalThis.fetch(url, { redirect: 'manual' });
      return new URL(headers.get('location') ?? '').searchParams;
    },
    exchanges: () => double.exchanges.length,
    stop: () => double.stop(),
  };
});

import { startIdentityProvider } from '../examples/support/identity-provider.ts';
import { client } from './signing-in.ts';

/**
 * A real identity provider that prints the time of each code exchange in milliseconds, because that part of a sign-in
 * is not the service's. Usage: node bench/identity-provider.ts REDIRECT_URI
 */
const redirectUris = process.argv.slice(2);
const { issuer, server } = await startIdentityProvider({ ...client, redirectUris });
server.prependListener('request', ({ url }, response) => {
  if (url !== '/token') return;
  const began = performance.now();
  response.once('finish', () => process.stdout.write(`exchange ${performance.now() - began}\n`));
});
process.stdout.write(`Identity provider is ready on ${issuer}\n`);

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startCounterfoil } from './counterfoil.ts';
import { startIdentityProvider } from './identity-provider.ts';

/**
 * A page that users sign in to: `npm run example`. An identity provider and the service run next to it, each on its own
 * port. The page's server proxies /v3/auth to the service, so that the browser sees one origin, as behind any reverse
 * proxy.
 */
const client = { clientId: 'books', clientSecret: 'a-secret-of-the-example' };
const page = readFileSync(new URL('index.html', import.meta.url));

let service = '';
const server = createServer((request, response) => {
  if (request.url?.startsWith('/v3/auth/')) proxy(request, response);
  else if (request.url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  else response.writeHead(404).end();
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const counterfoil = await startCounterfoil(origin);
service = counterfoil.origin;
const redirectUris = [`${origin}/v3/auth/oidc/example/callback`];
const provider = await startIdentityProvider({ ...client, redirectUris });
const registered = await fetch(`${service}/v3/create/service/auth/oidc/example?verify=true`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({
    IDP_CLIENT_ID: client.clientId,
    IDP_CLIENT_SECRET: client.clientSecret,
    IDP_ISSUER: provider.issuer,
  }),
});
if (!registered.ok) throw new Error(await registered.text());
process.stdout.write(`Open ${origin}/ and sign in with any name and any password. Press Ctrl-C to stop.\n`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    counterfoil.close();
    process.exit(0);
  });
}

function proxy(request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = request;
  const forwarded = send(service + url, { method, headers }, (upstream) => {
    response.writeHead(upstream.statusCode ?? 502, upstream.headers);
    upstream.pipe(response);
  });
  forwarded.on('error', () => response.destroy());
  request.pipe(forwarded);
}

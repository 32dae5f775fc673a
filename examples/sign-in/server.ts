import { readFileSync } from 'node:fs';
import { Counterfoil } from '../support/counterfoil.ts';
import { startPageServer } from '../support/page-server.ts';
import { offerSignIn } from '../support/sign-in.ts';
import { stopWith } from '../support/stop.ts';

/**
 * A page that users sign in to: `npm run example`. The service and an identity provider run next to it, each on its own
 * port.
 */
const page = readFileSync(new URL('index.html', import.meta.url));

const server = await startPageServer((request, response) => {
  if (request.url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  else response.writeHead(404).end();
});
const service = await new Counterfoil().serve(server.origin);
stopWith(service);
server.proxySignInTo(service.origin);
await offerSignIn(service.origin, server.origin);
process.stdout.write(
  `Open ${server.origin}/ and sign in with any name and any password. Press Ctrl-C to stop.\n`,
);

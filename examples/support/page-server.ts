import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  request as send,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PageServer {
  readonly origin: string;
  /** From now on, /v3/auth goes to the service at this address. */
  proxySignInTo(service: string): void;
}

/**
 * Serves the files of an example on PORT, or 3000, and proxies /v3/auth to the service, so that the browser sees one
 * origin, as behind any reverse proxy. The session cookie needs that.
 */
export async function startPageServer(files: RequestListener): Promise<PageServer> {
  let service: string | undefined;
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/v3/auth/')) files(request, response);
    else if (service === undefined) response.writeHead(503).end();
    else proxy(service, request, response);
  });
  server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    proxySignInTo: (address) => {
      service = address;
    },
  };
}

function proxy(service: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = request;
  const forwarded = send(service + url, { method, headers }, (upstream) => {
    response.writeHead(upstream.statusCode ?? 502, upstream.headers);
    upstream.pipe(response);
  });
  forwarded.on('error', () => response.destroy());
  request.pipe(forwarded);
}

import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { isLoopback } from '../../origins.ts';

/** Headers that proxies and CDNs are known to add to the requests they forward. */
const forwardingHeaders: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-forwarded',
  'forwarded-for',
  'x-original-forwarded-for',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-envoy-external-address',
  'via',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'cf-ray',
  'true-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'cdn-loop',
  'x-azure-clientip',
  'x-amz-cf-id',
  'x-appengine-user-ip',
]);

/**
 * Without API keys the service is open only to direct callers on this machine. It rejects a request from a proxy, which comes
 * from loopback although its caller does not, and a request for another host name, which may come from a web page on a name
 * that resolves to 127.0.0.1 (DNS rebinding).
 */
export function checkDirectCaller({ headers, socket }: FastifyRequest): void {
  if (!isLoopbackPeer(socket.remoteAddress ?? '')) throw throughProxy('the peer', undefined);
  for (const name in headers) {
    if (forwardingHeaders.has(name)) throw throughProxy(name, name);
  }
  const { host } = headers;
  // HTTP/1.0 requests may have no Host header.
  if (host !== undefined && !isLoopback(hostName(host))) {
    throw new ServiceError('forbidden', {
      param: 'Host',
      message: 'This service has no API keys: it accepts only the hosts localhost, 127.0.0.1 and [::1].',
    });
  }
}

/**
 * Rejects pages of other origins on a service without keys: browsers send some requests without a preflight, and only hide
 * the response from the page.
 */
export function checkOwnPage({ headers }: FastifyRequest, trustedOrigins: ReadonlySet<string>): void {
  const { host, origin } = headers;
  if (origin === undefined || origin === `http://${host}` || trustedOrigins.has(origin)) return;
  throw new ServiceError('forbidden', {
    param: 'Origin',
    message:
      'This service has no API keys: it accepts requests only from its own pages and the configured CORS origins.',
  });
}

function throughProxy(why: string, param: string | undefined): ServiceError {
  return new ServiceError('unauthenticated', {
    param,
    message:
      `This request came through a proxy (${why}), and this service has no API keys: ` +
      'it accepts only direct callers on its own machine.',
  });
}

function isLoopbackPeer(address: string): boolean {
  return isLoopback(address.replace(/^::ffff:/, ''));
}

function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}

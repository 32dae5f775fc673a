import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../errors.ts';
import { isLoopback } from '../../origins.ts';

/** Headers that proxies and CDNs are known to add: by them they say whom they speak for. */
const forwardingHeaders: readonly string[] = [
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
];

/**
 * Without API keys the service is open to direct callers on this machine alone. Refused are a request that a proxy
 * passed on (it comes from loopback, but its caller does not) and one for a foreign host name: a web page whose
 * name was made to resolve to 127.0.0.1 (DNS rebinding).
 */
export function checkDirectCaller({ headers, socket }: FastifyRequest): void {
  if (!isLoopbackPeer(socket.remoteAddress ?? '')) throw throughProxy('the peer', undefined);
  for (const name of forwardingHeaders) {
    if (headers[name] !== undefined) {
      throw throughProxy(name, name);
    }
  }
  const { host } = headers;
  // HTTP/1.0 has none.
  if (host !== undefined && !isLoopback(hostName(host))) {
    throw new ServiceError('forbidden', {
      param: 'Host',
      message: 'This service has no API keys: it answers to localhost, 127.0.0.1 and [::1] alone.',
    });
  }
}

/**
 * Nor may a page from elsewhere use what is open: a browser sends some requests without asking first, and only keeps
 * the answer from the page.
 */
export function checkOwnPage({ headers }: FastifyRequest, trustedOrigins: ReadonlySet<string>): void {
  const { host, origin } = headers;
  if (origin === undefined || origin === `http://${host}` || trustedOrigins.has(origin)) return;
  throw new ServiceError('forbidden', {
    param: 'Origin',
    message:
      'This service has no API keys: it answers its own pages, and those of the CORS origins of its settings.',
  });
}

function throughProxy(why: string, param: string | undefined): ServiceError {
  return new ServiceError('unauthenticated', {
    param,
    message: `This request came through a proxy (${why}), and this service has no API keys: it answers direct callers on its own machine alone.`,
  });
}

function isLoopbackPeer(address: string): boolean {
  return isLoopback(address.replace(/^::ffff:/, ''));
}

function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}

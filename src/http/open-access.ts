import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';

const forwardingHeaders = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
];

/**
 * Without API keys the service is open to direct callers on this machine alone. Refused are a request that a proxy
 * passed on (it comes from loopback, but its caller does not) and one for a foreign host name: a web page whose
 * name was made to resolve to 127.0.0.1 (DNS rebinding).
 */
export function checkDirectCaller({ headers }: FastifyRequest): void {
  for (const name of forwardingHeaders) {
    if (headers[name] !== undefined) {
      throw new ServiceError('unauthenticated', {
        param: name,
        message: `This request came through a proxy (${name}), and this service has no API keys: it answers direct callers on its own machine alone.`,
      });
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

function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}

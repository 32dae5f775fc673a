import type { FastifyRequest } from 'fastify';
import type { Access } from '../access/scopes.ts';
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
export function checkOpenAccess({ headers, raw }: FastifyRequest, access: Access | undefined): void {
  // Whoever passed it on.
  if (access === 'signed') return;
  for (const name of forwardingHeaders) {
    if (headers[name] !== undefined) {
      throw new ServiceError('unauthenticated', {
        param: name,
        message: `This request came through a proxy (${name}), and this service has no API keys: it answers direct callers on its own machine alone.`,
      });
    }
  }
  const { host } = headers;
  if (hasTwoHosts(raw.rawHeaders)) {
    throw new ServiceError('invalid_request', {
      param: 'Host',
      message: 'The request has more than one Host header.',
    });
  }
  if (host === undefined) {
    if (raw.httpVersion === '1.0') return;
    throw new ServiceError('invalid_request', { param: 'Host', message: 'The request has no Host header.' });
  }
  if (!isLoopback(hostName(host))) {
    throw new ServiceError('forbidden', {
      param: 'Host',
      message: 'This service has no API keys: it answers to localhost, 127.0.0.1 and [::1] alone.',
    });
  }
}

/** Node keeps the first of two; a proxy in front may have meant the other. */
function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}

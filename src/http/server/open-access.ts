import type { FastifyRequest } from 'fastify';
import { makeFirstKey } from '../../access/keys/keys.ts';
import { isLoopback } from '../../addresses.ts';
import { ServiceError } from '../../errors.ts';

/**
 * Headers that proxies, load balancers and CDNs add to the requests that they forward, by their vendors' documentation. Those
 * of one vendor share a prefix. Headers that honest clients send too, such as `traceparent` or `X-Request-Id`, are not among them.
 */
const forwardingHeader = new RegExp(
  `^(?:${[
    // RFC 7239, RFC 9110 (7.6.2, 7.6.3), RFC 8586, and the de facto standards before them.
    'forwarded',
    'forwarded-for',
    'forwarded-.+',
    'via',
    'max-forwards',
    'cdn-.+',
    'x-forwarded(?:-.+)?',
    'x-forward-for',
    'x-original-.+',
    'x-real-.+',
    'x-client-ip',
    'x-cluster-client-ip',
    'x-remote-.+',
    'x-proxy.*',
    'x-via',
    'client-ip',
    'true-client-ip',
    'surrogate-capability',
    'front-end-https',
    // Envoy, Cloudflare, AWS, Azure and IIS, Google, Fastly, Fly.io, Akamai, Varnish, Tailscale, ngrok, Vercel, Netlify, Render
    'x-envoy-.+',
    'cf-.+',
    'x-amzn-.+',
    'x-amz-cf-.+',
    'cloudfront-.+',
    'x-azure-.+',
    'x-arr-.+',
    'x-appengine-.+',
    'x-cloud-trace-context',
    'fastly-.+',
    'fly-.+',
    'akamai-.+',
    'x-akamai-.+',
    'x-varnish',
    'tailscale-.+',
    'ngrok-.+',
    'x-vercel-.+',
    'x-nf-.+',
    'rndr-.+',
  ].join('|')})$`,
);

/**
 * Without API keys the service is open only to direct callers on this machine. It rejects a request from a proxy, which comes
 * from loopback although its caller does not, and a request for another host name, which may come from a web page on a name
 * that resolves to 127.0.0.1 (DNS rebinding).
 *
 * HTTP/1.0 counts as the mark of a proxy: it is what nginx before 1.29.7 sends with a plain `proxy_pass`, with the Host that the
 * configuration names and no header of its own. A proxy that speaks HTTP/1.1, passes on or sets a loopback Host, and adds nothing
 * cannot be distinguished from a program on this machine (docs/api-keys.md, "Behind a proxy").
 */
export function checkDirectCaller({ headers, raw, socket }: FastifyRequest): void {
  if (!isLoopbackPeer(socket.remoteAddress ?? '')) throw throughProxy('the peer', undefined);
  for (const name in headers) {
    if (forwardingHeader.test(name)) throw throughProxy(name, name);
  }
  if (raw.httpVersion === '1.0') throw throughProxy('HTTP/1.0', undefined);
  const { host } = headers;
  if (host === undefined || !isLoopback(hostName(host))) {
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
      `it accepts only direct callers on its own machine. ${makeFirstKey}`,
  });
}

function isLoopbackPeer(address: string): boolean {
  return isLoopback(address.replace(/^::ffff:/, ''));
}

function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d*$/, '');
}

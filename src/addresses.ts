/** Whether a host, as written in a setting or URL, can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * The origin of a page that a browser may be sent to: https, or http on this machine. Undefined for any other URL, also for a
 * `blob:` URL: it has the origin of its creator (URL standard, 4.7) but is not a page of it.
 */
export function webOrigin({ protocol, hostname, origin }: URL): string | undefined {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)) ? origin : undefined;
}

/**
 * Whether a text is an origin as a browser writes it (RFC 6454, 6.2), so that it can be compared character by character.
 * http is allowed on loopback only: elsewhere the network could change the page.
 */
export function isWebOrigin(text: string): boolean {
  return URL.canParse(text) && webOrigin(new URL(text)) === text;
}

/**
 * The address that limits count. For IPv6 it is the /64 network, because its owner has all of its addresses. An IPv4-mapped
 * IPv6 address counts as IPv4.
 */
export function countedAddress(address: string): string {
  const groups = ipv6Groups(address);
  if (groups === undefined) return address.slice(address.lastIndexOf(':') + 1);
  return `${groups.slice(0, 4).join(':')}::/64`;
}

interface CountedNetwork {
  readonly id: string;
  /** Its quota, as a multiple of the quota of one address. */
  readonly factor: number;
}

/** Like `countedAddress`, plus the /48 network for IPv6, which may belong to one customer of a data centre. */
export function countedNetworks(address: string, factor: number): readonly CountedNetwork[] {
  const own = { id: countedAddress(address), factor: 1 };
  const groups = ipv6Groups(address);
  return groups === undefined ? [own] : [own, { id: `${groups.slice(0, 3).join(':')}::/48`, factor }];
}

/** The eight groups of an IPv6 address; undefined for an IPv4 address. */
function ipv6Groups(address: string): readonly string[] | undefined {
  if (!address.includes(':') || address.includes('.')) return undefined;
  const [head = '', tail] = address.replace(/%.*/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return groups;
}

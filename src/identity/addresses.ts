import ipaddr from 'ipaddr.js';

/** All of the global unicast space of IPv6 (RFC 4291, 2.4); what lies outside is mapped, translated or local. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address is one of the public internet. Named is what may be asked, not what may not: an address of a
 * kind that nobody thought of is refused. Private (RFC 1918), loopback, link-local, shared (RFC 6598), unique local,
 * multicast, reserved and documentation addresses are not public, nor are those of IPv6 that carry one of IPv4
 * (mapped, NAT64, 6to4, Teredo): which one they end at is for others to say.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(globalUnicast);
}

/** Whether an address is this machine's own; a mapped one is none of those that we connect to. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback';
}

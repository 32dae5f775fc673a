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

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Hosts and networks of the operator's own that may be asked though they are not public. */
export class PrivateHosts {
  readonly #names: ReadonlySet<string>;
  readonly #networks: readonly Network[];

  /** @param named host names, addresses, and networks such as `10.0.0.0/8` */
  constructor(named: readonly string[]) {
    this.#names = new Set(named.map((text) => text.toLowerCase()));
    this.#networks = named.map(networkOf).filter((network) => network !== undefined);
  }

  /** Whether the host of a URL is named, by its name or as an address. */
  names(host: string): boolean {
    const literal = host.replace(/^\[|\]$/g, '');
    return this.hasHost(literal) || this.allows(literal, false);
  }

  /** Whether a host is named itself, not only a network that it may lie in. */
  hasHost(host: string): boolean {
    return this.#names.has(host.toLowerCase());
  }

  /**
   * Whether an address that is not public may be asked. A named host may lie anywhere private but at an address of
   * metadata services and the like, unless that is in a named network.
   */
  allows(address: string, isNamedHost: boolean): boolean {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.parse(address);
    if (
      this.#networks.some(
        ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network as never, bits),
      )
    )
      return true;
    if (!isNamedHost || metadataAddresses.includes(parsed.toString())) return false;
    return ['private', 'loopback', 'uniqueLocal', 'carrierGradeNat'].includes(parsed.range());
  }
}

/** Of cloud machines, within ranges that are private else. */
const metadataAddresses = ['fd00:ec2::254'];

function networkOf(text: string): Network | undefined {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    if (!ipaddr.isValid(text)) return undefined;
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    return undefined;
  }
}

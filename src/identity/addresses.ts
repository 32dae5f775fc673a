import ipaddr from 'ipaddr.js';

/** The global unicast space of IPv6 (RFC 4291, 2.4); addresses outside it are mapped, translated or local. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address is on the public internet. This is an allow-list, so that an address of an unknown kind is rejected.
 * Private (RFC 1918), loopback, link-local, shared (RFC 6598), unique local, multicast, reserved and documentation
 * addresses are not public. IPv6 addresses that embed an IPv4 one (mapped, NAT64, 6to4, Teredo) are not either, because
 * the network decides where they lead.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(globalUnicast);
}

/** Whether an address is a loopback address; a mapped one is not accepted. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'loopback';
}

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Private hosts and networks that the operator allows. */
export class PrivateHosts {
  readonly #names: ReadonlySet<string>;
  readonly #networks: readonly Network[];

  /** @param named host names, addresses, and networks such as `10.0.0.0/8` */
  constructor(named: readonly string[]) {
    this.#names = new Set(named.map((text) => text.toLowerCase()));
    this.#networks = named.map(parseNetwork).filter((network) => network !== undefined);
  }

  /** Whether the host of a URL is named, by its name or as an address. */
  names(host: string): boolean {
    const literal = host.replace(/^\[|\]$/g, '');
    return this.hasHost(literal) || this.allows(literal, false);
  }

  /** Whether a host itself is named, not only a network that contains it. */
  hasHost(host: string): boolean {
    return this.#names.has(host.toLowerCase());
  }

  /**
   * Whether an address that is not public is allowed. A named host may have any private address except those of metadata
   * services and the like; a named network allows these too.
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

/** Metadata services of clouds within otherwise private ranges. */
const metadataAddresses = ['fd00:ec2::254'];

function parseNetwork(text: string): Network | undefined {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    if (!ipaddr.isValid(text)) return undefined;
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    return undefined;
  }
}

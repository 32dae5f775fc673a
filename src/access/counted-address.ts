/**
 * The address that is counted: of IPv6 the network of 64 bits, because whoever has one address of it has all; an IPv4
 * address in the clothes of IPv6 as what it is.
 */
export function countedAddress(address: string): string {
  const groups = groupsOf(address);
  if (groups === undefined) return address.slice(address.lastIndexOf(':') + 1);
  return `${groups.slice(0, 4).join(':')}::/64`;
}

export interface CountedNetwork {
  readonly id: string;
  /** How many times as much it may have as one address. */
  readonly factor: number;
}

/** As `countedAddress`, and of IPv6 the network of 48 bits too, which one customer of a data centre may have. */
export function countedNetworks(address: string, factor: number): readonly CountedNetwork[] {
  const own = { id: countedAddress(address), factor: 1 };
  const groups = groupsOf(address);
  return groups === undefined ? [own] : [own, { id: `${groups.slice(0, 3).join(':')}::/48`, factor }];
}

/** The eight groups of an address of IPv6; undefined for one of IPv4. */
function groupsOf(address: string): readonly string[] | undefined {
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

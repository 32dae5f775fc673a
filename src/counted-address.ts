/**
 * The address that limits count. For IPv6 it is the /64 network, because its owner has all of its addresses. An IPv4-mapped
 * IPv6 address counts as IPv4.
 */
export function countedAddress(address: string): string {
  const groups = groupsOf(address);
  if (groups === undefined) return address.slice(address.lastIndexOf(':') + 1);
  return `${groups.slice(0, 4).join(':')}::/64`;
}

export interface CountedNetwork {
  readonly id: string;
  /** Its quota, as a multiple of the quota of one address. */
  readonly factor: number;
}

/** Like `countedAddress`, plus the /48 network for IPv6, which may belong to one customer of a data centre. */
export function countedNetworks(address: string, factor: number): readonly CountedNetwork[] {
  const own = { id: countedAddress(address), factor: 1 };
  const groups = groupsOf(address);
  return groups === undefined ? [own] : [own, { id: `${groups.slice(0, 3).join(':')}::/48`, factor }];
}

/** The eight groups of an IPv6 address; undefined for an IPv4 address. */
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

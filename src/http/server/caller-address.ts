import type { IncomingHttpHeaders } from 'node:http';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [Address, number];

/**
 * Finds the caller's address behind proxies: from the end of `X-Forwarded-For`, the first address that is not a trusted
 * proxy. A port after the address is ignored. If an entry is not an address, the address of the proxy that sent it is used.
 */
export class CallerAddresses {
  readonly #trusted: readonly Network[];

  /** @param trustedProxies addresses and networks, as in the settings */
  constructor(trustedProxies: readonly string[]) {
    this.#trusted = trustedProxies.map(parseNetwork);
  }

  isTrusted(address: string): boolean {
    if (this.#trusted.length === 0) return false;
    const parsed = parseAddress(address);
    return parsed !== undefined && this.#isTrusted(parsed);
  }

  /** @param peer the remote address of the connection */
  find(peer: string, headers: IncomingHttpHeaders): string {
    const forwarded = headers['x-forwarded-for'];
    if (forwarded === undefined || !this.isTrusted(peer)) return peer;
    let last = peer;
    const hops = String(forwarded);
    for (let end = hops.length; end > 0; ) {
      const start = hops.lastIndexOf(',', end - 1) + 1;
      const address = parseAddress(withoutPort(hops.slice(start, end).trim()));
      if (address === undefined) return last;
      last = address.toString();
      if (!this.#isTrusted(address)) return last;
      end = start - 1;
    }
    return last;
  }

  #isTrusted(address: Address): boolean {
    return this.#trusted.some(([network, bits]) => {
      if (network.kind() !== address.kind()) return false;
      return address.match(network as never, bits);
    });
  }
}

function parseNetwork(text: string): Network {
  const [address = '', bits] = text.split('/');
  const parsed = ipaddr.process(address);
  const isMapped = parsed.kind() === 'ipv4' && address.includes(':');
  const whole = parsed.kind() === 'ipv4' ? 32 : 128;
  return [parsed, bits === undefined ? whole : Number(bits) - (isMapped ? 96 : 0)];
}

/** `192.0.2.1:4711` and `[2001:db8::1]:4711` → the address. */
function withoutPort(text: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
}

/** An IPv4-mapped IPv6 address becomes an IPv4 address. */
function parseAddress(text: string): Address | undefined {
  return text.length <= addressCharactersMax && ipaddr.isValid(text) ? ipaddr.process(text) : undefined;
}

/** Enough for an IPv6 address with an IPv4 part and a zone. */
const addressCharactersMax = 64;

/** A count for each address with a count above 0. */
export class AddressCounts {
  readonly #counts = new Map<string, number>();

  get(address: string): number {
    return this.#counts.get(address) ?? 0;
  }

  /** @returns the new count */
  add(address: string, count = 1): number {
    const sum = this.get(address) + count;
    this.#counts.set(address, sum);
    return sum;
  }

  remove(address: string, count = 1): void {
    const left = this.get(address) - count;
    if (left <= 0) this.#counts.delete(address);
    else this.#counts.set(address, left);
  }
}

/** Whether a host, as written in a setting or URL, can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * The origin of a page that a browser may be sent to: https, or http on this machine. Undefined for any other URL: a `blob:`
 * URL has the origin of its creator (URL standard, 4.7), and yet is no page of it.
 */
export function webOriginOf({ protocol, hostname, origin }: URL): string | undefined {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)) ? origin : undefined;
}

/**
 * Whether a text is an origin as a browser writes it (RFC 6454, 6.2), so that it can be compared character by character.
 * http is allowed on loopback only: elsewhere the network could change the page.
 */
export function isWebOrigin(text: string): boolean {
  return URL.canParse(text) && webOriginOf(new URL(text)) === text;
}
